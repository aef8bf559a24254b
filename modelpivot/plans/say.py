"""A fit in words, for terminal and markdown alike. Pure."""

from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Unread
from modelpivot.models.size import say_bytes


def say_fit(fit: Fit | Unread | None) -> dict[str, str]:
    """Line by line as the sum goes; empty: there is nothing to fit."""
    if fit is None:
        return {}
    if isinstance(fit, Unread):
        return {"not known": fit.unread}
    return {
        "memory": f"{say_bytes(fit.memory_bytes)} × {fit.share:g}",
        "weights": f"{say_bytes(fit.weights_bytes)}, {say_bytes(fit.replicated_bytes)} of them on every GPU"
        if fit.replicated_bytes
        else say_bytes(fit.weights_bytes),
        "forward pass": f"{say_bytes(fit.activation_bytes)} (estimate)",
        "KV cache": f"{say_bytes(fit.pool_bytes)} in {fit.kv_type}" if fit.pool_bytes > 0 else "nothing is left",
        "a token takes": f"{fit.bytes_per_token:,} bytes"
        + (f", a sequence {say_bytes(fit.sequence_bytes)} beside" if fit.sequence_bytes else ""),
        "tokens": f"{fit.tokens:,}" if fit.pool_bytes > 0 else "0",
        "longest context": _say_longest(fit),
    }


def _say_longest(fit: Fit) -> str:
    asked = f"; the recipe asks for {fit.asked:,}" if fit.asked else ""
    own = f" of the model's {fit.limit:,}" if fit.limit else ""
    return f"{fit.longest:,}{own}, with 1 GiB to spare{asked}"
