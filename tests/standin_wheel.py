"""The stand-in engine as a real wheel that uv resolves and installs: `python -m standin_engine` takes an engine's flags.

Like vLLM it says what it loads; `--fault` is what tests/standin.py takes. Built by hand, RECORD with real digests. Of a version something
can be planted: a fault that it has by itself, one that it has only with a config it cannot do, a benchmark client that finds another speed.
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

from standin_engine import planted, standin

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True, type=Path)
parser.add_argument("--served-model-name", required=True)
parser.add_argument("--host", required=True)
parser.add_argument("--port", required=True)
parser.add_argument("--fault", default=planted.FAULT)
parser.add_argument("--load-s", default="0.1")
parser.add_argument("--load-format")
parser.add_argument("--max-model-len")
options = parser.parse_args()
if planted.REFUSES and planted.REFUSES in (options.model / "config.json").read_text():
    options.fault = "die_at_start"
if not (options.model / "config.json").exists():
    sys.exit(f"no config.json in {options.model}")
sys.argv = ["standin", "--port", options.port, "--name", options.served_model_name, "--fault", options.fault, "--load-s", options.load_s]
standin.main()
'''
CLIENT = '''"""In place of the engine's benchmark client: what that would write, at the speed that was planted."""

import json
from pathlib import Path

from standin_engine import planted

FLAGS = ("num-prompts", "random-output-len", "max-concurrency", "seed", "result-dir", "result-filename")


def add_cli_args(parser):
    """Those that it reads; it is given more."""
    for flag in FLAGS:
        parser.add_argument("--" + flag)
    parser.parse_args = lambda: parser.parse_known_args()[0]


def main(told):
    """Every request answered, at the planted speed."""
    prompts, tokens, speed = int(told.num_prompts), int(told.random_output_len), planted.SPEED
    result = {
        "num_prompts": prompts, "completed": prompts, "duration": prompts * tokens / speed, "max_concurrency": int(told.max_concurrency),
        "total_output_tokens": prompts * tokens, "output_throughput": speed, "request_throughput": speed / tokens,
        "median_ttft_ms": 6000 / speed, "median_tpot_ms": 1000 / speed, "ttfts": [6 / speed] * prompts, "output_lens": [tokens] * prompts,
        "errors": [""] * prompts, "seed": int(told.seed),
    }
    Path(told.result_dir, told.result_filename).write_text(json.dumps(result))
'''
CLIENT_FILES = {"vllm/__init__.py": "", "vllm/benchmarks/__init__.py": "", "vllm/benchmarks/serve.py": CLIENT}
WHEEL = "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(folder: Path, version: str = VERSION, *, fault: str = "none", refuses: str = "", speed: float | None = None) -> Path:
    """`standin_engine-1.0-py3-none-any.whl` in `folder`. `refuses`: words in config.json with which this version does not start;
    `speed`: output tokens per second that its client finds, None: it has none."""
    files = {
        "standin_engine/__init__.py": "",
        "standin_engine/__main__.py": MAIN,
        "standin_engine/planted.py": f"FAULT, REFUSES, SPEED = {fault!r}, {refuses!r}, {speed!r}\n",
        "standin_engine/standin.py": STANDIN.read_text(),
        **(CLIENT_FILES if speed else {}),
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
