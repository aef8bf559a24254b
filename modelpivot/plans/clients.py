"""What clients will notice of a pivot, one sentence each. Pure: two releases compared as they would answer."""

from modelpivot.models.release import Endpoint, Release

TOLD_FLAGS = {
    "max-model-len": "the longest context",
    "tool-call-parser": "the tool-call parser",
    "reasoning-parser": "the reasoning parser",
    "chat-template": "the chat template",
    "enable-auto-tool-choice": "automatic tool choice",
    "generation-config": "where sampling defaults come from",
    "override-generation-config": "the sampling defaults",
    "default-chat-template-kwargs": "what the chat template is given",
    "enable-lora": "adapters",
    "lora-modules": "the adapters by name",
    "limit-mm-per-prompt": "images and other media in a request",
    "max-logprobs": "the most log-probabilities a request may ask for",
    "root-path": "the path in front of every address",
    "ssl-certfile": "TLS",
}
"""Flags that change what an answer looks like or how long a request may be."""


def client_changes(current: Release | None, candidate: Release) -> list[str]:
    """One sentence a change; nothing when both are the same release."""
    if current is None:
        return [f"{candidate.endpoint.served_name} answers at {candidate.endpoint.base_url} for the first time"]
    if current.id == candidate.id:
        return []
    return [
        "requests fail from the stop of the old engine until the new one has generated: keep them waiting, or drain before",
        *_model_changes(current, candidate),
        *_endpoint_changes(current.endpoint, candidate.endpoint),
        *_flag_changes(flags_of(current.start.argv), flags_of(candidate.start.argv)),
    ]


def flags_of(argv: list[str]) -> dict[str, str]:
    """Flags of a command line with their values: `--a b c --d` gives a: `b c`, d: empty. `--a=b` counts the same."""
    flags: dict[str, str] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            flags[name] = value
        elif name:
            flags[name] = f"{flags[name]} {word}".strip()
    return flags


def _model_changes(current: Release, candidate: Release) -> list[str]:
    changes = []
    if (current.repo, current.commit) != (candidate.repo, candidate.commit):
        changes.append(f"answers come from {_say_model(candidate)} instead of {_say_model(current)}")
    if current.engine_version != candidate.engine_version:
        old = f"{current.engine} {current.engine_version or 'of an unknown version'}"
        changes.append(f"the engine is {candidate.engine} {candidate.engine_version} instead of {old}")
    return changes


def _say_model(release: Release) -> str:
    return f"{release.repo} ({release.commit[:8]})" if release.commit else release.repo


def _endpoint_changes(current: Endpoint, candidate: Endpoint) -> list[str]:
    changes = []
    if current.served_name != candidate.served_name:
        changes.append(f"the model is called {candidate.served_name} instead of {current.served_name}: requests by the old name get 404")
    if (current.bind, current.port) != (candidate.bind, candidate.port):
        changes.append(f"the address is {candidate.bind}:{candidate.port} instead of {current.bind}:{current.port}")
    if bool(current.api_key_file) != bool(candidate.api_key_file):
        changes.append("requests need the host's key" if candidate.api_key_file else "requests need no key any more")
    return changes


def _flag_changes(current: dict[str, str], candidate: dict[str, str]) -> list[str]:
    return [
        f"{words}: {_say_flag(candidate, flag)} instead of {_say_flag(current, flag)}"
        for flag, words in TOLD_FLAGS.items()
        if current.get(flag) != candidate.get(flag)
    ]


def _say_flag(flags: dict[str, str], flag: str) -> str:
    return (flags[flag] or "on") if flag in flags else "the engine's default"
