"""Server and worker as systemd units: the files of deployments/systemd with this clone's and this host's paths in them.

No secret stands in a unit: both read an environment file that only root may read, shortly before they start.
"""

import os
import sys
from pathlib import Path

from modelpivot.files import write_atomic
from modelpivot.models.frozen import Frozen
from modelpivot.models.hooks import Hooks
from modelpivot.models.host import HostConfig
from modelpivot.recipes import deployments
from modelpivot.settings import to_environment
from modelpivot.up.environment import read_variables, write_environment
from modelpivot.up.own_units import BOTH
from modelpivot.up.places import UNITS, UpPlaces
from modelpivot.up.run import PROJECT, queue_words

TEMPLATES = PROJECT / "deployments" / "systemd"
NAMES = tuple(UNITS.values())
SECRETS = ("MODELPIVOT_DATABASE_URL", "HF_TOKEN")
"""Of the shell, for the worker's runs; in no configuration, so that no report or unit shows them."""


class Units(Frozen):
    """What was put into place for systemd."""

    units: list[Path]
    url: str
    """Of the UI, once the server runs."""
    login: Path
    """File with user and secret."""
    environment: Path
    """File with the variables for the worker, commands and workers elsewhere on this machine."""
    worker_is_told: list[str]
    """Names of the variables that this shell had for the worker."""
    next: str
    """The command that root gives."""

    def __str__(self) -> str:
        return "\n".join(
            (
                f"wrote {', '.join(path.name for path in self.units)} into {self.units[0].parent}",
                f"the worker is told, as this shell says it: {', '.join(self.worker_is_told)}",
                f"next, as root: {self.next}",
                f"log in at {self.url} with the line in {self.login}",
            )
        )


def write_units(host: HostConfig, places: UpPlaces, folder: Path, *, address: str, port: int, database: str | None) -> Units:
    """Secret, environment files and both units. What is there as it should be is not written again."""
    worker = worker_variables(host)
    write_environment(places, listen=address, port=port, database=database, worker=worker)
    for name in NAMES:
        text = render_unit(name, host, places)
        path = folder / name
        if not path.exists() or path.read_text() != text:
            write_atomic(path, text)
    return Units(
        units=[folder / name for name in NAMES],
        url=read_variables(places.server_env)["PREFECT_UI_URL"],
        login=places.auth,
        environment=places.client_env,
        worker_is_told=sorted(worker),
        next=f"systemctl daemon-reload && systemctl enable --now {BOTH}",
    )


def worker_variables(host: HostConfig) -> dict[str, str]:
    """The host's own configuration, without hooks where it has none, and what no configuration holds: where recipes lie, and secrets."""
    variables = to_environment(host)
    if host.hooks == Hooks():
        del variables["MODELPIVOT_HOOKS"]
    if "MODELPIVOT_DEPLOYMENTS" in os.environ:
        variables["MODELPIVOT_DEPLOYMENTS"] = str(deployments().absolute())
    return variables | {name: os.environ[name] for name in SECRETS if os.environ.get(name)}


def render_unit(name: str, host: HostConfig, places: UpPlaces) -> str:
    """The unit's text for this host."""
    text = (TEMPLATES / name).read_text()
    values = {"@PROJECT@": PROJECT, "@PYTHON@": sys.executable, "@PREFECT@": places.root, "@HOST@": host.name}
    for word, value in {**values, " @QUEUES@": "".join(f" {word}" for word in queue_words(host))}.items():
        text = text.replace(word, str(value))
    return text
