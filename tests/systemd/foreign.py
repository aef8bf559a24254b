"""The brief's old service on a machine of the tests: a unit that was not made by us, its engine a stand-in."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from modelpivot.models.release import Release
from modelpivot.supervisors.adopt import Seen, adopt_unit
from tests.switching import STANDIN
from tests.systemd.units import PYTHON, ROOT, Units

NAME = "vllm-glm5.service"
FRAGMENT = f"/etc/systemd/system/{NAME}"
DROP_IN = f"{FRAGMENT}.d/10-limits.conf"
TEXT = f"""[Unit]
Description=GLM-5 on a patched engine
[Service]
Environment=PORT=8000 HF_TOKEN=hf_secret
ExecStart={PYTHON} -I -S {STANDIN} --port ${{PORT}} --name glm-5
Restart=on-failure
KillMode=process
[Install]
WantedBy=multi-user.target
"""
PROJECT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Foreign:
    """The unit on a machine, and the commands of this program there."""

    units: Units

    def put(self, text: str = TEXT) -> None:
        """Its files in place, its engine running and enabled."""
        self.units.sandbox.write(FRAGMENT, text)
        self.units.sandbox.write(DROP_IN, "[Service]\nTimeoutStopSec=3\n")
        self.units.sandbox.shell(f"systemctl daemon-reload; systemctl enable --now {NAME}")

    def adopt(self) -> Release:
        """As a release of this host, frozen and not yet current."""
        return self.units.sandbox.call(adopt_unit, self.units.state, NAME, Seen(served_name="glm-5"))

    def command(self, *words: str, expected: int = 0) -> Any:
        """A command of modelpivot with --json; its document. Fails when the exit code is another one."""
        environment = [f"PYTHONPATH={PROJECT}", f"MODELPIVOT_STATE_DIR={ROOT}"]
        result = self.units.sandbox.exec("env", *environment, sys.executable, "-m", "modelpivot", *words, "--json", is_checked=False)
        assert result.returncode == expected, f"{result.returncode}: {result.stdout}{result.stderr}"
        return json.loads(result.stdout)

    def wait_answers(self) -> None:
        """Until the unit's engine generates."""
        release = self.units.release("glm-5")
        self.units.wait_answers(release)
        self.units.sandbox.shell(f"rm -r {ROOT}/releases/glm-5")
