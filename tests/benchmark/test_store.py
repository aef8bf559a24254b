"""The history keeps every result and gives it back as it was, in SQLite and in PostgreSQL; nothing waits for a database that is away."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, make_url, text

from modelpivot.benchmark.keep import keep, look_back, mark, read_unstored
from modelpivot.benchmark.store import open_history
from modelpivot.benchmark.tables import METADATA
from modelpivot.errors import PreconditionError, TransientError, UsageError
from modelpivot.models.benchmark import GpuLoad
from modelpivot.state.paths import StatePaths
from tests.benchmark.results import LOAD, SETUP, SINGLE, result
from tests.postgresql import postgresql_url

__all__ = ["postgresql_url"]

URL = "MODELPIVOT_DATABASE_URL"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, state: StatePaths, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty history: in the state, or in a schema of its own of a real PostgreSQL."""
    monkeypatch.delenv(URL, raising=False)
    if request.param == "sqlite":
        yield f"sqlite:///{state.benchmarks}"
        return
    url = make_url(request.getfixturevalue("postgresql_url")).set(drivername="postgresql+psycopg")
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS history"))
        connection.execute(text("CREATE DATABASE history"))
    monkeypatch.setenv(URL, url.set(database="history", drivername="postgresql").render_as_string(hide_password=False))
    yield url.set(database="history").render_as_string(hide_password=False)
    admin.dispose()


def test_results_come_back_as_they_were(database: str, state: StatePaths) -> None:
    """Everything of them: figures, set-up, engine counters, GPUs; newest first."""
    gpu = GpuLoad(
        index=0,
        uuid="GPU-0",
        mean_power_w=118.5,
        peak_power_w=130.0,
        mean_sm_clock_mhz=None,
        mean_memory_clock_mhz=None,
        peak_memory_bytes=2**34,
        peak_temperature_c=34.0,
        mean_utilization=0.97,
        samples=9,
    )
    full, invalid = result(server=LOAD, gpus=[gpu], at=2000.0), result(None, at=1000.0)
    with open_history(state) as history:
        history.add([invalid, full])
    with open_history(state) as history:
        assert history.read() == [full, invalid]


def test_what_is_there_is_not_kept_twice(database: str, state: StatePaths) -> None:
    """The same result added again, alone or among others, changes nothing."""
    one, two = result(at=1.0), result(at=2.0)
    with open_history(state) as history:
        history.add([one, one])
        history.add([one, two])
        assert history.read() == [two, one]


def test_questions_are_answered_by_host_model_workload_and_run(database: str, state: StatePaths) -> None:
    """Each narrows the answer alone."""
    other = SINGLE.model_copy(update={"concurrency": 8})
    mine = result(run_id="r1")
    others = [
        result(run_id="r2", setup=SETUP.model_copy(update={"host": "gpu-2"})),
        result(run_id="r2", setup=SETUP.model_copy(update={"repo": "acme/other"})),
        result(run_id="r2", workload=other),
    ]
    with open_history(state) as history:
        history.add([mine, *others])
        assert mine.id in {one.id for one in history.read(host="gpu-1")} != {one.id for one in history.read()}
        assert len(history.read(host="gpu-1")) == len(history.read(repo="acme/model")) == len(history.read(workloads=[SINGLE.digest])) == 3
        assert history.read(run_id="r1") == [mine]
        assert history.read(workloads=[]) == []


def test_standing_is_marked(database: str, state: StatePaths) -> None:
    """Of the named results alone."""
    one, two = result(standing="measured", at=2.0), result(standing="measured", at=1.0)
    assert keep(state, [one, two]) == mark(state, [one.id], "refused") == ""
    assert [found.standing for found in look_back(state)[0]] == ["refused", "measured"]


def test_the_tables_are_what_the_migrations_make(database: str, state: StatePaths) -> None:
    """A table changed without a migration is found here, for both databases."""
    with open_history(state):
        pass
    engine = create_engine(database)
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)
    engine.dispose()
    assert differences == []


def test_many_open_an_empty_history_at_once(database: str, state: StatePaths) -> None:
    """One of them makes the tables, none fails, and a set-up that all of them bring is kept once."""
    results = [result(at=float(number)) for number in range(6)]
    problems: list[str] = []
    threads = [threading.Thread(target=lambda one=one: problems.append(keep(state, [one]))) for one in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [""] * 6
    assert len(look_back(state)[0]) == 6


def test_a_history_of_a_newer_version_is_refused(database: str, state: StatePaths) -> None:
    """Tables of a revision that this version does not know are left alone."""
    with open_history(state):
        pass
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(PreconditionError, match="9999"), open_history(state):
        pass


def test_results_wait_in_the_state_while_the_database_is_away(state: StatePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted, marked, and kept with the next ones once it answers; the error has no password."""
    monkeypatch.setenv(URL, f"postgresql://pivot:secret@/history?host={tmp_path}")
    early = result(at=1.0, standing="measured")
    problem = keep(state, [early])
    assert "does not answer" in problem
    assert "secret" not in problem
    assert look_back(state)[0] == read_unstored(state) == [early]
    assert mark(state, [early.id], "accepted")
    monkeypatch.delenv(URL)
    late = result(at=2.0)
    assert keep(state, [late]) == ""
    assert read_unstored(state) == []
    assert look_back(state) == ([late, early.model_copy(update={"standing": "accepted"})], "")


@pytest.mark.parametrize(
    ("url", "kind"), [("no address", UsageError), ("oracle+nothing://x", UsageError), ("sqlite:////proc/no/history", TransientError)]
)
def test_a_wrong_address_is_told(state: StatePaths, monkeypatch: pytest.MonkeyPatch, url: str, kind: type[Exception]) -> None:
    """One that is none by its form, one whose place cannot be written by what the database says."""
    monkeypatch.setenv(URL, url)
    with pytest.raises(kind, match=r"MODELPIVOT_DATABASE_URL|does not answer"), open_history(state):
        pass
