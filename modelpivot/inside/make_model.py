"""Make small models with random weights, complete as on a hub: config, sharded safetensors, a tokenizer trained on the spot.

Run by the engine's Python, without network: `make_model.py old|new FOLDER [--seed N]`; the same seed gives the same bytes.

    old   a Qwen3 in bf16
    new   the DeepSeek V3 architecture (MLA, experts routed by noaux_tc) in bf16, in ten shards or so, its config declaring an FP8 KV cache

What they answer is noise, yet always the same and never one word again and again: after each token the next one of a shuffled
vocabulary is by far the likeliest. Architecture, loading, kernels and serving are real.
"""

import argparse
import json
import zlib
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, DeepseekV3Config, PreTrainedTokenizerFast, Qwen3Config

VOCABULARY = 4096
SOURCES = 40
SPECIAL = ("<|begin|>", "<|end|>", "<|fill|>")
COMMON = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}
LIKELIEST_LOGIT = 10.0
CHAT_TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
KV_CACHE_SCHEME = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False, "symmetric": True}
DECLARES_FP8_KV_CACHE = {
    "quant_method": "compressed-tensors",
    "format": "dense",
    "config_groups": {},
    "ignore": [],
    "kv_cache_scheme": KV_CACHE_SCHEME,
    "quantization_status": "compressed",
}
SHARD_BYTES = {"old": "4MB", "new": "5MB"}


def old_config():
    return Qwen3Config(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        **COMMON,
    )


def new_config():
    return DeepseekV3Config(
        hidden_size=512,
        intermediate_size=1024,
        moe_intermediate_size=512,
        num_hidden_layers=3,
        num_attention_heads=8,
        num_key_value_heads=8,
        q_lora_rank=256,
        kv_lora_rank=512,
        qk_rope_head_dim=64,
        qk_nope_head_dim=128,
        v_head_dim=128,
        first_k_dense_replace=1,
        n_routed_experts=16,
        n_shared_experts=1,
        num_experts_per_tok=2,
        n_group=4,
        topk_group=2,
        **COMMON,
    )


# transformers leaves the two routing keys out, and the engine routes by them.
MODELS = {
    "old": (old_config, {}),
    "new": (new_config, {"topk_method": "noaux_tc", "scoring_func": "sigmoid", "quantization_config": DECLARES_FP8_KV_CACHE}),
}


def chain_tokens(model, seed):
    """Embeddings that outweigh the layers, and an output row for each token that lies along the embedding of the one before it."""
    ids = torch.arange(len(SPECIAL), VOCABULARY)
    shuffled = ids[torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))]
    output_std = LIKELIEST_LOGIT / model.config.hidden_size
    embeddings, output = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    with torch.no_grad():
        embeddings.normal_(std=1.0)
        output.normal_(std=output_std)
        output[shuffled] = output_std * embeddings[shuffled.roll(1)]


def write_weights(kind, folder, seed):
    config, further = MODELS[kind]
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config())
    chain_tokens(model, seed)
    model = model.to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size=SHARD_BYTES[kind])
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **further}, indent=2) + "\n")
    for shard in folder.glob("*.safetensors"):
        shard.chmod(0o644)


def write_tokenizer(folder):
    """A byte-level BPE trained on the sources of the standard library, filled up so that every id decodes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    sources = sorted(Path(argparse.__file__).parent.glob("*.py"))[:SOURCES]
    tokenizer.train_from_iterator((line for path in sources for line in path.read_text().splitlines()), trainer)
    tokenizer.add_tokens([f"filler{number}" for number in range(tokenizer.get_vocab_size(), VOCABULARY)])
    begin, end, fill = SPECIAL
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end, pad_token=fill)
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(MODELS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    kind, folder = arguments.kind, arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(kind, folder, zlib.crc32(f"{kind} {arguments.seed}".encode()))
    write_tokenizer(folder)
    files = [path for path in folder.iterdir() if path.is_file()]
    shards = sum(path.suffix == ".safetensors" for path in files)
    print(json.dumps({"kind": kind, "shards": shards, "bytes": sum(path.stat().st_size for path in files)}))


if __name__ == "__main__":
    main()
