"""The history of all results: SQLite in the state, or the database that MODELPIVOT_DATABASE_URL names. Nothing that serves depends on it.

SQLAlchemy and Alembic take seconds to import: only what measures, compares or looks back imports this module.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from pydantic import ValidationError
from sqlalchemy import Connection, Engine, Select, create_engine, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from modelpivot.benchmark.tables import RESULTS, SETUPS, result_of, result_row, setup_row
from modelpivot.errors import PreconditionError, TransientError, UsageError
from modelpivot.files import describe_invalid, guarded
from modelpivot.models.benchmark import Standing, StoredResult
from modelpivot.settings import read_database_url
from modelpivot.state.paths import StatePaths

MIGRATIONS = Path(__file__).with_name("migrations")
MIGRATING = 7_202_611
"""Number of the lock that PostgreSQL holds while the tables are changed."""
CONNECT_S = 10
BUSY_S = 30
MOST = 5000
"""Results that a question answers with unless it asks for another number: the newest."""


class History:
    """An open history, its tables up to date. TransientError when the database does not answer; what was asked for was not done then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def where(self) -> str:
        """Its address without a password."""
        return self._engine.url.render_as_string(hide_password=True)

    def add(self, results: Sequence[StoredResult]) -> None:
        """Keep results; nothing to do for those that are there."""
        with self._connected() as connection:
            known = set(connection.scalars(select(RESULTS.c.id).where(RESULTS.c.id.in_([result.id for result in results]))))
            for result in {result.id: result for result in results if result.id not in known}.values():
                _add_setup(connection, result)
                connection.execute(RESULTS.insert().values(result_row(result)))

    def mark(self, ids: Sequence[str], standing: Standing) -> None:
        """Say what became of what was measured."""
        with self._connected() as connection:
            connection.execute(update(RESULTS).where(RESULTS.c.id.in_(ids)).values(standing=standing))

    def read(
        self,
        *,
        host: str | None = None,
        repo: str | None = None,
        workloads: Sequence[str] | None = None,
        run_id: str | None = None,
        most: int | None = MOST,
    ) -> list[StoredResult]:
        """Results, newest first; `workloads` are digests, what is None is not asked for, and with `most` None all are read."""
        asked = {SETUPS.c.host: host, SETUPS.c.repo: repo, RESULTS.c.run_id: run_id}
        question = _everything()
        for column, value in asked.items():
            question = question.where(column == value) if value is not None else question
        if workloads is not None:
            question = question.where(RESULTS.c.workload_digest.in_(workloads))
        with self._connected() as connection:
            rows = connection.execute(question.order_by(RESULTS.c.at.desc(), RESULTS.c.id).limit(most)).all()
        try:
            return [result_of(row) for row in rows]
        except ValidationError as error:
            hint = "use the newest modelpivot that wrote to this database"
            raise PreconditionError(f"{self.where}: a result that is none: {describe_invalid(error)[:300]}", hint=hint) from error

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _away(self.where, error) from error


@contextmanager
def open_history(state: StatePaths) -> Iterator[History]:
    """The history of this host. UsageError for an address that is none, TransientError when nothing answers there, PreconditionError when it
    was written by a newer version."""
    engine = _engine(_address(state))
    history = History(engine)
    try:
        state.root.mkdir(parents=True, exist_ok=True)
        with guarded(state.benchmarks.with_suffix(".guard")):
            _migrate(history, engine)
        yield history
    finally:
        history.close()


@contextmanager
def open_to_read(state: StatePaths) -> Iterator[History | None]:
    """The history as it stands, also where nothing can be written; None: there is none yet, and none is made. One of an older version is brought up
    to date first, which writes. Errors as `open_history`."""
    if not read_database_url() and not state.benchmarks.is_file():
        yield None
        return
    engine = _engine(_address(state))
    history = History(engine)
    try:
        if _is_up_to_date(history, engine):
            yield history
        else:
            with open_history(state) as migrated:
                yield migrated
    finally:
        history.close()


def _address(state: StatePaths) -> str:
    return read_database_url() or f"sqlite:///{state.benchmarks.absolute()}"


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgres", "postgresql"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        options: dict[str, object] = {"timeout": BUSY_S} if parsed.drivername.startswith("sqlite") else {"connect_timeout": CONNECT_S}
        return create_engine(parsed, connect_args=options)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as error:
        raise UsageError(
            f"MODELPIVOT_DATABASE_URL: not the address of a database: {type(error).__name__}",
            hint="expected sqlite:////absolute/path or postgresql://user:password@host/name",
        ) from error


def _migrate(history: History, engine: Engine) -> None:
    """Bring the tables up to date; one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError as error:
        raise PreconditionError(
            f"{history.where}: the tables are of another version: {error}", hint="use the newest modelpivot that wrote to this database"
        ) from error
    except SQLAlchemyError as error:
        raise _away(history.where, error) from error


def _is_up_to_date(history: History, engine: Engine) -> bool:
    try:
        with engine.connect() as connection:
            revision = MigrationContext.configure(connection).get_current_revision()
    except SQLAlchemyError as error:
        raise _away(history.where, error) from error
    return revision == ScriptDirectory(str(MIGRATIONS)).get_current_head()


def _away(where: str, error: SQLAlchemyError) -> TransientError:
    said = " ".join(str(getattr(error, "orig", None) or error).split())[:300]
    return TransientError(f"the benchmark history at {where} does not answer: {said}", hint="results are kept in the state until it does")


def _everything() -> Select[tuple[object, ...]]:
    return select(RESULTS, SETUPS.c.document.label("setup_document")).join(SETUPS, SETUPS.c.digest == RESULTS.c.setup_digest)


def _add_setup(connection: Connection, result: StoredResult) -> None:
    """A set-up is written once; another process may do so in the same moment."""
    row = setup_row(result)
    insert = _insert_of(connection)
    connection.execute(insert(SETUPS).values(row).on_conflict_do_nothing(index_elements=["digest"]))


def _insert_of(connection: Connection) -> Callable:  # type: ignore[type-arg]
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_postgresql

        return insert_postgresql
    from sqlalchemy.dialects.sqlite import insert as insert_sqlite

    return insert_sqlite
