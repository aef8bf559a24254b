"""The host configuration from the environment: every field of `HostConfig` as `MODELPIVOT_<FIELD>`."""

import json
import os
import re
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from modelpivot.errors import UsageError
from modelpivot.files import describe_invalid
from modelpivot.models.host import HostConfig

ROOTS = ("weights_root", "environments_root", "state_dir")
"""Made absolute where they are read: units and children of another folder use them too."""
MEND = "mend the environment variable"


class HostSettings(HostConfig, BaseSettings):
    """`HostConfig`, read from `MODELPIVOT_*` (nested fields with two underscores, such as MODELPIVOT_HOOKS__BEFORE)."""

    model_config = SettingsConfigDict(
        env_prefix="MODELPIVOT_", env_nested_delimiter="__", env_ignore_empty=True, extra="ignore", frozen=True
    )


def read_host_config() -> HostConfig:
    """The host configuration of this process. `HF_ENDPOINT` names the Hub where MODELPIVOT_HUB_ENDPOINT does not. UsageError names the field."""
    try:
        settings = HostSettings()
        values = settings.model_dump()
        if "hub_endpoint" not in settings.model_fields_set and (endpoint := os.environ.get("HF_ENDPOINT")):
            values["hub_endpoint"] = endpoint
        return HostConfig(**values | {name: Path(values[name]).absolute() for name in ROOTS})
    except ValidationError as error:
        names = ", ".join(dict.fromkeys(_variable(str(item["loc"][0])) for item in error.errors() if item["loc"]))
        raise UsageError(f"host configuration ({names}): {describe_invalid(error)}", hint=MEND) from error
    except SettingsError as error:
        raise UsageError(f"host configuration (MODELPIVOT_*): {error}: expected JSON", hint=MEND) from error


def _variable(field: str) -> str:
    """Where a field's value came from."""
    is_hub = field == "hub_endpoint" and "MODELPIVOT_HUB_ENDPOINT" not in os.environ
    return "HF_ENDPOINT" if is_hub else f"MODELPIVOT_{field.upper()}"


def to_environment(host: HostConfig) -> dict[str, str]:
    """The variables that make `read_host_config` in a child give the same configuration."""
    values = host.model_dump(mode="json", exclude_none=True)
    hooks = values.pop("hooks")
    flat = {f"MODELPIVOT_{name.upper()}": str(value) for name, value in values.items()}
    return flat | {"MODELPIVOT_HOOKS": json.dumps(hooks)}


def read_database_url() -> str | None:
    """MODELPIVOT_DATABASE_URL, where the benchmark history lies; None: in the state. It may hold a password, so no host configuration has it.

    UsageError for another kind of address, which is not shown.
    """
    url = os.environ.get("MODELPIVOT_DATABASE_URL") or None
    if url and not re.match(r"(sqlite|postgres|postgresql)(\+\w+)?:", url):
        hint = "expected sqlite:////absolute/path or postgresql://user:password@host/name"
        raise UsageError("MODELPIVOT_DATABASE_URL: not the address of a database that is known", hint=hint)
    return url
