"""The stand-in engine as a real wheel that uv resolves and installs: `python -m standin_engine` takes an engine's flags.

Like vLLM it says what it loads; `--fault` is what tests/standin.py takes. Built by hand: one package, RECORD with real digests.
"""

import base64
import hashlib
import zipfile
from pathlib import Path

STANDIN = Path(__file__).with_name("standin.py")
VERSION = "1.0"
MAIN = '''"""Takes an engine's flags and hands on those that the stand-in knows."""

import argparse
import sys
from pathlib import Path

from standin_engine import standin

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True, type=Path)
parser.add_argument("--served-model-name", required=True)
parser.add_argument("--host", required=True)
parser.add_argument("--port", required=True)
parser.add_argument("--fault", default="none")
parser.add_argument("--load-s", default="0.1")
options = parser.parse_args()
if not (options.model / "config.json").exists():
    sys.exit(f"no config.json in {options.model}")
sys.argv = ["standin", "--port", options.port, "--name", options.served_model_name, "--fault", options.fault, "--load-s", options.load_s]
standin.main()
'''
WHEEL = "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(folder: Path, version: str = VERSION) -> Path:
    """`standin_engine-1.0-py3-none-any.whl` in `folder`."""
    files = {
        "standin_engine/__init__.py": "",
        "standin_engine/__main__.py": MAIN,
        "standin_engine/standin.py": STANDIN.read_text(),
        f"standin_engine-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: standin-engine\nVersion: {version}\n",
        f"standin_engine-{version}.dist-info/WHEEL": WHEEL,
    }
    record = f"standin_engine-{version}.dist-info/RECORD"
    lines = [f"{name},sha256={_digest(text)},{len(text.encode())}" for name, text in files.items()]
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"standin_engine-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, record: "\n".join([*lines, f"{record},,", ""])}.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
