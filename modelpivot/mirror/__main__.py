"""`python -m modelpivot.mirror ROOT --port 0 --ready-file FILE`: serve a folder as a Hub until SIGTERM; the address goes to FILE and to standard output."""

import argparse
import json
import signal
import threading
from pathlib import Path

from modelpivot.files import write_atomic
from modelpivot.mirror.faults import Fault, Faults
from modelpivot.mirror.server import Mirror


def main() -> None:
    """Serve until told to stop."""
    arguments = _parse()
    faults = [Fault.model_validate(each) for each in json.loads(arguments.faults.read_text())] if arguments.faults else []
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    with Mirror(arguments.root, port=arguments.port, faults=Faults(faults), max_rate=arguments.max_rate) as mirror:
        print(mirror.base_url, flush=True)
        if arguments.ready_file:
            write_atomic(arguments.ready_file, mirror.base_url + "\n")
        over.wait()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m modelpivot.mirror", description="A read-only Hub over a folder of org/name folders.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--ready-file", type=Path, help="where to write the address once it listens")
    parser.add_argument("--faults", type=Path, help="JSON list of faults to switch on")
    parser.add_argument("--max-rate", type=float, help="bytes a second over all connections")
    return parser.parse_args()


if __name__ == "__main__":
    main()
