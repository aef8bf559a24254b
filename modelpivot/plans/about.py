"""The model in a few words, for the person who reads the plan. Pure."""

import json

from pydantic import JsonValue

from modelpivot.models.counted import counted
from modelpivot.models.facts import Facts, ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.model_config import Attention, ModelConfig
from modelpivot.models.size import say_bytes


def about_model(facts: Facts) -> dict[str, str]:
    """What is known, by the word for it; what is unread is left out, it is told elsewhere."""
    model = facts.model
    config = {} if isinstance(model.summary, Unread) else about_config(model.summary)
    return {name: value for name, value in {**config, **_about_files(model), **_about_card(model)}.items() if value}


def about_config(config: ModelConfig) -> dict[str, str]:
    """Architecture, attention, experts, context, quantization."""
    experts = config.experts
    return {
        "architecture": ", ".join(config.architectures) or config.model_type,
        "attention": _say_attention(config.kind, config.attention),
        "experts": f"{experts.routed}, {experts.per_token} per token" + (f", {experts.shared} shared" if experts.shared else "")
        if experts
        else "",
        "context": f"{config.max_positions} tokens" if config.max_positions else "",
        "quantization": config.quantization or ("none, " + config.dtype if config.dtype else ""),
        "KV cache asked for": ", ".join(f"{_in_words(setting.value)} ({setting.file} {setting.pointer})" for setting in config.kv_settings),
        "remote code": "the repository brings its own" if config.has_remote_code else "",
    }


def _in_words(value: JsonValue) -> str:
    """As it stands in the file; a bare word without its quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _say_attention(kind: str, attention: Attention | None) -> str:
    if attention is None:
        return ""
    parts = [
        (attention.full_layers, "full"),
        (attention.window_layers, f"of a window of {attention.window}"),
        (attention.linear_layers, "linear or SSM"),
    ]
    layers = ", ".join(f"{counted(count, 'layer')} {word}" for count, word in parts if count)
    heads = counted(attention.heads, "head") + (f" over {attention.kv_heads}" if kind in ("GQA", "MQA") else "")
    sparse = ", sparse indexer" if attention.latent and attention.latent.index_dim else ""
    return f"{kind}, {heads}, {layers}{sparse}"


def _about_files(model: ModelFacts) -> dict[str, str]:
    if isinstance(model.manifest, Unread):
        return {}
    weights = model.weights
    exact = {} if isinstance(weights, Unread) else {"weights": f"{say_bytes(weights.size_bytes)} in {weights.files} files"}
    return {"commit": model.manifest.commit, **exact}


def _about_card(model: ModelFacts) -> dict[str, str]:
    card, access = model.card, model.access
    gate = "gated, the token opens it" if access.is_gated else "private, the token opens it" if access.is_private else ""
    if isinstance(card, Unread):
        return {"access": gate}
    advice = [
        f"tensor parallel {card.tensor_parallel}" if card.tensor_parallel else "",
        f"vLLM {card.engine_version}" if card.engine_version else "",
    ]
    return {"licence": card.license, "access": gate, "card advises": ", ".join(filter(None, advice))}
