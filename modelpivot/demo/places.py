"""Where the demo keeps everything: one folder, removed by `make clean`.

.demo/prefect/        PREFECT_HOME: database, logs
      hub/            what the local Hub serves: demo/old-qwen3, demo/new-deepseek
      weights/        weights root        environments/   environments root
      state/          the host's state    recipes/        the recipes of --fail
      running.json    the server and the Hub that run, with their addresses
      demo.lock       held by the demo that runs
      logs/
"""

import os
from dataclasses import dataclass
from pathlib import Path

from modelpivot.models.host import HostConfig

DEMO_PORT = 18000
RESERVE_BYTES = 1_000_000_000


@dataclass(frozen=True)
class DemoPlaces:
    """The demo's folder."""

    root: Path

    @property
    def prefect_home(self) -> Path:
        """Database and settings of the demo's Prefect server."""
        return self.root / "prefect"

    @property
    def hub(self) -> Path:
        """What the local Hub serves."""
        return self.root / "hub"

    @property
    def recipes(self) -> Path:
        """Recipes written by --fail."""
        return self.root / "recipes"

    @property
    def running(self) -> Path:
        """What runs, with addresses."""
        return self.root / "running.json"

    @property
    def lock(self) -> Path:
        """Held by the demo that runs."""
        return self.root / "demo.lock"

    def log(self, name: str) -> Path:
        """Output of one of the demo's services."""
        return self.root / "logs" / f"{name}.log"

    def host(self, hub_endpoint: str | None = None, port: int | None = None) -> HostConfig:
        """This machine as the demo's host; without a Hub for what needs none."""
        host = HostConfig(
            name="demo",
            weights_root=self.root / "weights",
            environments_root=self.root / "environments",
            state_dir=self.root / "state",
            supervisor="process",
            disk_reserve_bytes=RESERVE_BYTES,
            port=port,
        )
        return host.model_copy(update={"hub_endpoint": hub_endpoint}) if hub_endpoint else host


def demo_places() -> DemoPlaces:
    """`.demo` in the working directory, or MODELPIVOT_DEMO_DIR."""
    return DemoPlaces(Path(os.environ.get("MODELPIVOT_DEMO_DIR", ".demo")).resolve())
