"""Server and worker as systemd units: the files of deployments/systemd with this clone's and this host's paths in them.

No secret stands in a unit: both read an environment file that only root may read, shortly before they start.
"""

import sys
from pathlib import Path

from modelpivot.files import write_atomic
from modelpivot.models.hooks import Hooks
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.up.environment import read_variables, write_environment
from modelpivot.up.places import UpPlaces
from modelpivot.up.run import PROJECT, queue_words

TEMPLATES = PROJECT / "deployments" / "systemd"
NAMES = ("prefect-server.service", "modelpivot-worker.service")


def write_units(host: HostConfig, places: UpPlaces, folder: Path, *, address: str, port: int, database: str | None) -> list[str]:
    """Secret, environment files and both units; what to do next, in lines. What is there as it should be is not written again."""
    write_environment(places, listen=address, port=port, database=database, worker=_worker_variables(host))
    for name in NAMES:
        text = render_unit(name, host, places)
        path = folder / name
        if not path.exists() or path.read_text() != text:
            write_atomic(path, text)
    return [
        f"wrote {', '.join(NAMES)} into {folder}",
        "next, as root: systemctl daemon-reload && systemctl enable --now prefect-server modelpivot-worker",
        f"log in at {read_variables(places.server_env)['PREFECT_UI_URL']} with the line in {places.auth}",
    ]


def _worker_variables(host: HostConfig) -> dict[str, str]:
    """The host's own configuration, without hooks where it has none."""
    variables = to_environment(host)
    if host.hooks == Hooks():
        del variables["MODELPIVOT_HOOKS"]
    return variables


def render_unit(name: str, host: HostConfig, places: UpPlaces) -> str:
    """The unit's text for this host."""
    text = (TEMPLATES / name).read_text()
    values = {"@PROJECT@": PROJECT, "@PYTHON@": sys.executable, "@PREFECT@": places.root, "@HOST@": host.name}
    for word, value in {**values, " @QUEUES@": "".join(f" {word}" for word in queue_words(host))}.items():
        text = text.replace(word, str(value))
    return text
