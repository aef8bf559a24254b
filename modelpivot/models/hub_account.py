"""How a Hub is reached: its address and the token for gated and private repositories."""

from pydantic import SecretStr

from modelpivot.models.frozen import Frozen


class HubAccount(Frozen):
    """Address and token of a Hub. From a HubAccess block; without one, `HF_TOKEN` and the host configuration say the same."""

    endpoint: str | None = None
    """None: the host configuration's."""
    token: SecretStr | None = None
    """Read token; None: only public repositories. It goes to the Hub alone, never into a log, result or unit."""
