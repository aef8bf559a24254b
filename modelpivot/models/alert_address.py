"""Where alerts go: one channel of the kinds that people use, with what it needs to be reached."""

from typing import Literal

from pydantic import Field, SecretStr, model_validator

from modelpivot.models.frozen import Frozen

Kind = Literal["webhook", "slack", "teams", "pagerduty", "email", "block"]
NEEDS: dict[Kind, tuple[str, ...]] = {
    "webhook": ("url",),
    "slack": ("url",),
    "teams": ("url",),
    "pagerduty": ("key", "routing_key"),
    "email": ("key", "sender", "to"),
    "block": ("block",),
}
"""What each kind cannot do without."""


class AlertAddress(Frozen):
    """One channel. Which fields count is said by `kind`; addresses with a secret in them and keys are secrets."""

    kind: Kind = "webhook"
    """webhook: any address that takes JSON. email: through SendGrid. block: a notification block or webhook of Prefect that is there already."""
    url: SecretStr | None = None
    """webhook, slack, teams: the address that takes the message."""
    key: SecretStr | None = None
    """pagerduty, email: the account's API key. webhook: sent as `Authorization: Bearer`, if given."""
    routing_key: SecretStr | None = None
    """pagerduty: the integration key of the service."""
    sender: str | None = None
    """email: the address that the message comes from."""
    to: list[str] = Field(default_factory=list)
    """email: who gets it."""
    block: str | None = None
    """block: its type and name, such as `discord-webhook/ops`."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "AlertAddress":
        missing = [name for name in NEEDS[self.kind] if not getattr(self, name)]
        if missing:
            raise ValueError(f"{self.kind} needs {', '.join(NEEDS[self.kind])}; not given: {', '.join(missing)}")
        return self
