"""Environments made and proved by the real uv from real wheels, killed, broken, and made again."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from modelpivot.errors import CommandFailed, IntegrityError, PreconditionError, TransientError
from modelpivot.facts.environments import answers_file, environment_path, environment_python, proof_file, read_environment
from modelpivot.facts.resolution import KEPT
from modelpivot.facts.users import find_users
from modelpivot.facts.uv import read_uv
from modelpivot.host import run_command
from modelpivot.models.engine import Engine, EngineAnswers, EnvironmentProof, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from modelpivot.operations.environment import install_environment
from modelpivot.operations.prove import prove_environment
from modelpivot.settings import to_environment
from modelpivot.waiting import wait_for
from tests.engines import CHOICE, ENGINE, Index, index, resolve
from tests.lab.sandbox import UNABLE
from tests.weights.told import Told

__all__ = ["index"]

SYSTEM_PYTHON = "/usr/bin/python3"
"""An interpreter that every user can run."""
FILES = 1500
INSTALL = """
import sys
from modelpivot.models.engine import Engine, Resolution
from modelpivot.operations.environment import install_environment
from modelpivot.settings import read_host_config
resolution, engine = Resolution.model_validate_json(sys.stdin.readline()), Engine.model_validate_json(sys.stdin.readline())
install_environment(read_host_config(), resolution, engine, lambda *args, **data: None)
"""


def install(host: HostConfig, resolution: Resolution) -> EnvironmentProof:
    """Install the small engine."""
    return install_environment(host, resolution, ENGINE, Told())


def site(proof_or_path: EnvironmentProof | Path) -> Path:
    """site-packages of an environment."""
    path = proof_or_path if isinstance(proof_or_path, Path) else proof_or_path.path
    return next(path.glob("lib/python3*/site-packages"))


def imports(path: Path) -> bool:
    """Whether the environment's own Python imports the engine and its helper."""
    argv = [str(environment_python(path)), "-I", "-c", "import small_engine, helper"]
    return run_command(argv, timeout_s=120, is_checked=False).returncode == 0


def test_an_environment_is_made_proved_and_then_left_alone(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """First call: new, importable, proof on disk. Second call: nothing to do, without uv, not a file touched."""
    resolution = resolve(host)
    proof = install(host, resolution)
    assert (proof.new, proof.engine_version, proof.packages) == (True, "1.0", 3)
    assert proof.path == environment_path(host, resolution)
    assert imports(proof.path)
    before = proof_file(proof.path).stat().st_mtime_ns
    monkeypatch.setenv("MODELPIVOT_UV", "/nonexistent/uv")
    assert install(host, resolution) == proof.model_copy(update={"new": False})
    assert read_environment(host, resolution) == proof.model_copy(update={"new": False})
    assert proof_file(proof.path).stat().st_mtime_ns == before


def test_the_engines_answers_are_kept(host: HostConfig, index: Index) -> None:
    """What the engine said of itself lies beside the proof; an engine without such lists has none."""
    proof = install(host, resolve(host))
    assert EngineAnswers.model_validate_json(answers_file(proof.path).read_text()) == EngineAnswers(version="1.0")


def test_excluded_packages_may_be_missing_and_no_others(host: HostConfig, index: Index) -> None:
    """What was left out on purpose is no fault; a dependency that is missing without being left out is one."""
    without = resolve(host, choice=EngineChoice(name="small", exclude_packages=["unwanted"]))
    proof = install(host, without)
    assert proof.packages == 2
    forged = without.model_copy(update={"excluded": [], "digest": "0000000000"})
    with pytest.raises(IntegrityError, match="requires `unwanted`"):
        install(host, forged)
    assert read_environment(host, forged) is None


def test_an_engine_that_does_not_import_is_never_proved(host: HostConfig, index: Index) -> None:
    """Everything is installed as resolved, and the import ends with the engine's own words."""
    index.add("small_engine", "2.0", files={"small_engine/__init__.py": "raise ImportError('undefined symbol: cuBlasCreate')\n"})
    resolution = resolve(host, choice=EngineChoice(name="small", version="2.0"))
    with pytest.raises(CommandFailed, match="undefined symbol: cuBlasCreate"):
        install(host, resolution)
    assert read_environment(host, resolution) is None


def test_an_index_out_of_reach_is_a_passing_failure(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network in mid-install: to be tried again, and the next try ends well."""
    resolution = resolve(host)
    with monkeypatch.context() as unplugged:
        unplugged.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        unplugged.setenv("UV_CACHE_DIR", str(host.state_dir / "cold"))
        with pytest.raises(TransientError, match="out of reach"):
            install(host, resolution)
    assert install(host, resolution).new


def test_a_warm_cache_needs_no_index(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second environment of the same packages is made while the index is down."""
    resolution = resolve(host)
    install(host, resolution)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    again = resolution.model_copy(update={"digest": "1111111111"})
    monkeypatch.setenv("PIP_FIND_LINKS", str(index.root / "wheels"))
    assert install(host, again).new


def test_other_bytes_than_resolved_are_refused(host: HostConfig, index: Index) -> None:
    """The wheel changed after it was resolved: uv's hash mismatch is told, nothing is proved, the next plan resolves anew."""
    resolution = resolve(host)
    wrong = resolution.model_copy(update={"lock_text": re.sub("sha256:[0-9a-f]{4}", "sha256:0000", resolution.lock_text)})
    with pytest.raises(IntegrityError, match="Hash mismatch"):
        install(host, wrong)
    assert not (environment_path(host, wrong) / KEPT).exists()


def test_what_looks_installed_and_lacks_a_file_is_found(host: HostConfig, index: Index) -> None:
    """E2: freeze equals the plan and a module is gone: the RECORDs tell which, and the next install builds from scratch."""
    resolution = resolve(host)
    path = install(host, resolution).path
    gone = site(path) / "helper/__init__.py"
    gone.unlink()
    proof_file(path).unlink()
    with pytest.raises(IntegrityError, match=r"__init__\.py"):
        prove_environment(read_uv(host), host, path, resolution, ENGINE, Told())
    assert read_environment(host, resolution) is None
    assert install(host, resolution).new
    assert gone.exists()


def test_a_package_changed_behind_our_back_is_no_longer_proved(host: HostConfig, index: Index) -> None:
    """Another version by hand: the proof does not hold, and the next call restores what was resolved."""
    resolution = resolve(host)
    path = install(host, resolution).path
    (site(path) / "helper-1.0.dist-info").rename(site(path) / "helper-1.1.dist-info")
    assert read_environment(host, resolution) is None
    assert install(host, resolution).new
    assert (site(path) / "helper-1.0.dist-info").is_dir()


@contextmanager
def running_from(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs from an environment."""
    argv = [str(environment_python(path)), "-I", "-c", "print('up', flush=True); import time; time.sleep(600)"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_live_environment_is_never_changed(host: HostConfig, index: Index) -> None:
    """Something runs from it and its proof is gone: refused with the process named, every file as it was; afterwards it is repaired."""
    resolution = resolve(host)
    path = install(host, resolution).path
    proof_file(path).unlink()
    with running_from(path) as process:
        with pytest.raises(PreconditionError, match=f"process {process.pid} runs from it"):
            install(host, resolution)
        assert imports(path)
    assert install(host, resolution).new


def test_two_installs_at_once_make_one_environment(host: HostConfig, index: Index) -> None:
    """The second waits its turn and finds everything done."""
    resolution = resolve(host)
    with ThreadPoolExecutor(2) as pool:
        proofs = [future.result() for future in [pool.submit(install, host, resolution) for _ in range(2)]]
    assert sorted(proof.new for proof in proofs) == [False, True]


def test_a_cache_on_another_file_system_is_not_used(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache lies elsewhere (here: in memory): uv's cache is made beside the environments, and that is said."""
    monkeypatch.setenv("UV_CACHE_DIR", "/dev/shm/modelpivot-test-cache")
    if Path("/dev/shm").stat().st_dev == host.environments_root.parent.stat().st_dev:
        pytest.skip(f"{UNABLE}: no second file system at /dev/shm")
    told = Told()
    install_environment(host, resolve(host), ENGINE, told)
    assert (host.environments_root.parent / "cache").is_dir()
    assert any("another file system" in event.message for event in told.of("log"))


def start_install(host: HostConfig, resolution: Resolution, engine: Engine = ENGINE) -> subprocess.Popen[str]:
    """An install in a process of its own."""
    argv = [sys.executable, "-c", INSTALL]
    process = subprocess.Popen(argv, env={**os.environ, **to_environment(host)}, stdin=subprocess.PIPE, text=True)
    assert process.stdin
    with process.stdin as lines:
        lines.write(f"{resolution.model_dump_json()}\n{engine.model_dump_json()}\n")
    return process


def processes_of(path: Path) -> list[str]:
    """Command lines that name an environment."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(path) in line:
            lines.append(line)
    return lines


def files_installed(count: int) -> Callable[[Path], bool]:
    """True when so many of the big package's files lie in the environment."""
    return lambda path: sum(1 for _ in path.glob("lib/python3*/site-packages/big/*")) >= count


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "begun": lambda path: path.exists(),
    "resolution written": lambda path: (path / KEPT).exists(),
    "first file": files_installed(1),
    "a third of the files": files_installed(FILES // 3),
    "all files": files_installed(FILES),
    "engine asked": lambda path: answers_file(path).exists(),
}


@pytest.fixture
def big(host: HostConfig, index: Index) -> Resolution:
    """The small engine with a package of many files beside it, so that an install takes a while."""
    index.add("big", "1.0", files={"big/__init__.py": "", **{f"big/part{number}.py": f"N = {number}\n" for number in range(FILES)}})
    return resolve(host, choice=CHOICE.model_copy(update={"extra_requirements": ["big"]}))


def kill_and_repair(host: HostConfig, resolution: Resolution, process: subprocess.Popen[str]) -> None:
    """SIGKILL the installing process alone; nothing of it stays, nothing unproved is believed, and the next run ends proved."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    path = environment_path(host, resolution)
    wait_for(lambda: processes_of(path), lambda lines, _: not lines or None, what="uv ends with its parent", deadline_s=120)
    proof = install(host, resolution)
    assert imports(path)
    assert len(list(site(path).glob("big/part*.py"))) == FILES
    assert read_environment(host, resolution) == proof.model_copy(update={"new": False})


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_the_next_run_ends_proved(host: HostConfig, big: Resolution, moment: str) -> None:
    """SIGKILL of the installing process when a fact is reached: uv ends too, and the next run builds and proves."""
    process = start_install(host, big)
    path = environment_path(host, big)

    def judge(reached: bool, _waited_s: float) -> bool | None:
        return True if reached or process.poll() is not None else None

    wait_for(lambda: MOMENTS[moment](path), judge, what=moment, deadline_s=300, interval_s=0.001)
    kill_and_repair(host, big, process)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 20))])
def test_killed_after_any_time_the_next_run_ends_proved(host: HostConfig, big: Resolution, seed: int) -> None:
    """SIGKILL at a random moment of the time that a whole install takes."""
    started = time.monotonic()
    whole = start_install(host, big)
    whole.wait()
    took_s = time.monotonic() - started
    again = big.model_copy(update={"digest": "2222222222"})
    process = start_install(host, again)
    threading.Event().wait(took_s * random.Random(seed).random())
    kill_and_repair(host, again, process)


def test_a_root_that_cannot_be_written_is_said(host: HostConfig, index: Index) -> None:
    """A file stands where the environments should lie: a person must act, and reads where."""
    resolution = resolve(host)
    host.environments_root.write_text("")
    with pytest.raises(PreconditionError, match="environments"):
        install(host, resolution)


def test_all_that_uv_said_is_kept(host: HostConfig, index: Index) -> None:
    """Every package of the lock in the log beside it; the run is told the summary."""
    told = Told()
    path = install_environment(host, resolve(host), ENGINE, told).path
    assert " + helper==1.0" in (path / ".modelpivot/install.log").read_text()
    assert "--hash=sha256:" in (path / ".modelpivot/requirements.lock").read_text()


def test_users_of_an_environment_are_found(host: HostConfig, index: Index) -> None:
    """By command line; an environment that nothing runs from has none."""
    path = install(host, resolve(host)).path
    assert find_users(path) == []
    with running_from(path) as process:
        assert find_users(path) == [process.pid]


def test_a_file_edited_in_a_shared_cache_does_not_reach_the_next_environment(host: HostConfig, index: Index) -> None:
    """uv links files: editing one in a live environment edits the cache. The next environment is made of fresh bytes, the live one is left as it is."""
    resolution = resolve(host)
    live = site(install(host, resolution)) / "helper/__init__.py"
    live.write_text("PATCHED = True\n")
    told = Told()
    again = install_environment(host, resolution.model_copy(update={"digest": "3333333333"}), ENGINE, told)
    assert (site(again) / "helper/__init__.py").read_text() == "VERSION = '1.0'\n"
    assert live.read_text() == "PATCHED = True\n"
    assert any("edited files of helper" in event.message for event in told.of("warning"))


def test_compiled_modules_are_shared_with_the_environments_beside(host: HostConfig, index: Index) -> None:
    """The same source, one compiled file: linked, not compiled again; a source of other bytes is compiled for itself."""
    resolution = resolve(host)
    first = install(host, resolution).path
    assert imports(first)
    second = install(host, resolution.model_copy(update={"digest": "4444444444"})).path
    (ours,), (theirs,) = (list(site(path).glob("helper/__pycache__/*.pyc")) for path in (first, second))
    assert ours.stat().st_ino == theirs.stat().st_ino
    module = site(second) / "helper/__init__.py"
    module.unlink()
    module.write_text("VERSION = 'other'\n")
    assert imports(second)
    assert theirs.stat().st_ino != ours.stat().st_ino


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path(SYSTEM_PYTHON).exists(), reason=f"{UNABLE}: no root, or no Python of the system to run as another user"
)
def test_the_engines_user_can_run_it_whatever_our_umask_is(
    host: HostConfig, index: Index, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A tight umask of ours does not reach what is installed; a folder closed on the way is named before anything serves."""
    root = Path("/opt") / f"modelpivot-test-{os.getpid()}"
    host = host.model_copy(update={"environments_root": root / "environments", "engine_user": "nobody", "python": SYSTEM_PYTHON})
    tight = os.umask(0o077)
    try:
        for folder in (root, host.environments_root):
            folder.mkdir()
            folder.chmod(0o755)
        path = install(host, resolve(host)).path
        argv: list[str | Path] = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            environment_python(path),
            "-B",
            "-c",
            "import helper",
        ]
        run_command(argv, timeout_s=120, cwd=Path("/"))
        root.chmod(0o700)
        with pytest.raises(PreconditionError, match=f"nobody cannot read {root}"):
            install(host, resolve(host).model_copy(update={"digest": "5555555555"}))
    finally:
        os.umask(tight)
        shutil.rmtree(root)
