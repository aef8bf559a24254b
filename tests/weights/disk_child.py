"""What runs inside a mount namespace for the tests of the disk: a fetch, a fetch whose space is taken away, a verification. Prints JSON."""

import json
import shutil
import sys
import threading
from pathlib import Path

from modelpivot.errors import PivotError
from modelpivot.models.manifest import Manifest
from modelpivot.waiting import wait_for
from modelpivot.weights.fetch import FetchOptions, fetch_manifest
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.reconnect import Patience
from modelpivot.weights.verify import verify_directory
from tests.weights.told import Told, size_of

OPTIONS = FetchOptions(patience=Patience(idle_s=5, deadline_s=60, first_s=0.02, longest_s=0.2))


def plain(manifest: Manifest, directory: Path, endpoint: str) -> dict[str, object]:
    """A fetch that is expected to be refused."""
    try:
        fetch_manifest(manifest, directory, endpoint=endpoint, tell=Told(), options=OPTIONS)
    except PivotError as error:
        used = sum(path.stat().st_size for path in directory.parent.rglob("*") if path.is_file() and path.name != "fetch.lock")
        return {"kind": type(error).__name__, "message": error.message, "used_bytes": used}
    return {"kind": "none"}


def squeezed(manifest: Manifest, directory: Path, endpoint: str) -> dict[str, object]:
    """Another file takes all free space once bytes arrive; later it goes, and the fetch is called again."""
    ballast = directory.parent / "ballast"
    thread = threading.Thread(target=_take_space, args=(directory, ballast))
    thread.start()
    try:
        result = plain(manifest, directory, endpoint)
    finally:
        thread.join()
    partials = list(WeightsFolder(directory).partials.glob("*.part"))
    kept = sum(path.stat().st_size for path in partials)
    wrong = [path.name for path in directory.glob("*.safetensors") if verify_one(manifest, directory, path.name)]
    ballast.unlink()
    again = fetch_manifest(manifest, directory, endpoint=endpoint, tell=Told(), options=OPTIONS)
    verdict = verify_directory(directory, manifest, is_full=True, tell=Told()).verdict.verdict
    return {**result, "kept_bytes": kept, "wrong": wrong, "resumed_bytes": again.resumed_bytes, "verdict": verdict}


def verify_one(manifest: Manifest, directory: Path, name: str) -> bool:
    """Whether a file that has its name is wrong."""
    only = manifest.model_copy(update={"files": [file for file in manifest.files if file.path == name]})
    problems = verify_directory(directory, only, is_full=True, tell=Told()).verdict.problems
    return any(problem.file == name and problem.code not in ("EXTRA_WEIGHTS", "PARTIAL_LEFT") for problem in problems)


def _take_space(directory: Path, ballast: Path) -> None:
    partials = WeightsFolder(directory).partials

    def arrived() -> int:
        return sum(size_of(path) for path in partials.glob("*.part")) if partials.is_dir() else 0

    wait_for(arrived, lambda found, _: found if found > 5_000_000 else None, what="bytes arrive", deadline_s=120, interval_s=0.005)
    with ballast.open("wb") as file:
        file.truncate(0)
        try:
            while True:
                file.write(bytes(min(1 << 20, max(4096, shutil.disk_usage(directory.parent).free - 4_000_000))))
                file.flush()
                if shutil.disk_usage(directory.parent).free <= 4_100_000:
                    return
        except OSError:
            return


def verify(manifest: Manifest, directory: Path, receipts: str) -> dict[str, object]:
    """Twice over a directory that cannot be written to."""
    verdicts = [verify_directory(directory, manifest, tell=Told(), receipts_elsewhere=Path(receipts)).verdict for _ in range(2)]
    return {"verdicts": [each.verdict for each in verdicts], "hashed": [each.files.hashed_now for each in verdicts]}


if __name__ == "__main__":
    what, manifest_file, where, last = sys.argv[1:]
    read = Manifest.model_validate_json(Path(manifest_file).read_text())
    print(json.dumps({"plain": plain, "squeezed": squeezed, "verify": verify}[what](read, Path(where), last)))
