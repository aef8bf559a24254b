"""What Prefect is told: progress now and then and attached to its run, log lines that stay short, and nothing that could hold a stage up."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.runtime import flow_run

from flows.poster import POSTER, Poster
from flows.tell import LONGEST_LINE, PrefectListener, describe_progress, percent_done, show_markdown
from modelpivot.models.event import Event
from tests.flows.asked import list_artifacts
from tests.switching import wait_until


def progress(done: float | None, total: float | None, **data: Any) -> Event:
    return Event(at=0, stage="download", kind="progress", data={"done": done, "total": total, **data})


def in_a_task(body: Callable[[], None]) -> UUID:
    """Run the body in a task of a flow; the flow run's id."""

    @task(persist_result=False)
    def tell() -> None:
        body()

    @flow
    def telling() -> UUID:
        tell()
        return UUID(flow_run.get_id())

    return telling()


def test_progress_is_shown_once_a_second_and_at_the_end() -> None:
    """Ten per cent is shown, twenty half a second later is not, a hundred always is; it is one artifact, attached to its flow run."""
    times = iter([0.0, 0.5, 0.6])
    poster = Poster()
    listener = PrefectListener(clock=lambda: next(times), poster=poster)
    shown: list[object] = []

    def body() -> None:
        for done in (10, 20, 100):
            listener(progress(done, 100, unit="packages"))
            assert poster.drain(60)
            shown.append([artifact.data for artifact in list_artifacts(UUID(flow_run.get_id()))])

    in_a_task(body)
    assert shown == [[10.0], [10.0], [100.0]]


def test_files_in_flight_stand_beside_the_bar() -> None:
    """Rows of the artifact that is sent anyway: a handful, the rest counted; each showing has those of its moment, the last one none."""
    poster = Poster()
    listener = PrefectListener(clock=iter(range(10)).__next__, poster=poster)
    files = {f"model-{number}.safetensors": [10**9 * number, 10**10] for number in range(7)}
    shown: list[str] = []

    def body() -> None:
        for done, under_way in ((10, files), (20, {"x\ny.gguf": [1, 2]}), (100, {})):
            listener(progress(done, 100, unit="B", files=under_way))
            assert poster.drain(60)
            [artifact] = list_artifacts(UUID(flow_run.get_id()))
            shown.append(artifact.description or "")

    in_a_task(body)
    assert "\n- model-4.safetensors: 4.0 GB (3.7 GiB) of 10.0 GB (9.3 GiB)\n" in shown[0]
    assert "model-5" not in shown[0] and shown[0].endswith("and 2 more")
    assert shown[1].endswith("\n\n- x y.gguf: 1 bytes of 2 bytes")
    assert shown[2] == "100 bytes of 100 bytes"


def test_a_stage_that_is_run_again_gets_a_bar_of_its_own() -> None:
    """`started` after a failure begins anew, so that a bar never jumps back."""
    poster = Poster()
    listener = PrefectListener(poster=poster)

    def body() -> None:
        for _ in range(2):
            listener(Event(at=0, stage="download", kind="started"))
            listener(progress(100, 100))
            assert poster.drain(60)

    assert len(list_artifacts(in_a_task(body))) == 2


def test_an_api_that_is_away_holds_nobody_up() -> None:
    """While one call hangs, a hundred others are handed over at once; of those with one key only the newest is made, and errors end nothing."""
    poster, is_freed = Poster(), threading.Event()
    made: list[int] = []

    def refuse() -> None:
        is_freed.wait(60)
        raise httpx.ConnectError("refused")

    poster.put("hanging", refuse)
    for number in range(100):
        poster.put("bar", lambda number=number: made.append(number))  # type: ignore[misc]
    assert not poster.drain(0.05) and made == []
    is_freed.set()
    assert poster.drain(60) and made == [99]


@pytest.mark.parametrize(("done", "total", "expected"), [(1, 4, 25.0), (5, 4, 100.0), (None, 4, None), (1, None, None), (1, 0, None)])
def test_percent_needs_a_total(done: float | None, total: float | None, expected: float | None) -> None:
    """Without a total there is no percentage, and never more than a hundred."""
    assert percent_done(progress(done, total)) == expected


def test_bytes_are_told_in_both_units_with_rate_and_time_left() -> None:
    """A person reads how much, how fast, how long."""
    text = describe_progress(progress(5e9, 10e9, unit="B", rate=100e6, eta_s=50))
    assert text == "5.0 GB (4.7 GiB) of 10.0 GB (9.3 GiB), 100.0 MB (95.4 MiB)/s, 50 s left"
    assert describe_progress(progress(3, 7, unit="packages")) == "download: 3 of 7 packages"


def test_log_lines_are_one_short_line_each() -> None:
    """Carriage returns and a line of 2 MB reach Prefect as one line of bounded length; outside a run nothing happens."""
    listener = PrefectListener()
    flood = Event(at=0, stage="install", kind="log", message="10%\r20%\r" + "x" * 2_000_000)
    listener(flood)
    line = line_of(in_a_task(lambda: listener(flood)))
    assert line.startswith("install: 10% 20% xxx") and len(line) <= LONGEST_LINE + 3


def test_what_others_say_commands_no_page() -> None:
    """An engine's line and a file's name reach Prefect's log, bars and artifacts as words; the layout of a page stays."""
    poster, evil = Poster(), "\x1b[2J\x1b[31mred\x9b\u202e"
    listener = PrefectListener(poster=poster)

    def body() -> None:
        listener(Event(at=0, stage="install", kind="log", message=evil))
        listener(Event(at=0, stage="bar", kind="progress", message=evil, data={"done": 1, "total": 2}))
        show_markdown("page", f"# {evil}\n\n- {evil}", title=evil)
        assert poster.drain(60) and POSTER.drain(60)

    run_id = in_a_task(body)
    found = {artifact.type: artifact for artifact in list_artifacts(run_id)}
    assert found["markdown"].data == "# red\ufffd\ufffd\n\n- red\ufffd\ufffd"
    assert [found[kind].description for kind in ("markdown", "progress")] == ["red\ufffd\ufffd"] * 2
    assert line_of(run_id) == "install: red\ufffd\ufffd"


def line_of(run_id: UUID) -> str:
    """The one log line of the stage install, once the server has it."""

    def read() -> list[str]:
        logs = get_client(sync_client=True).read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id])))
        return [log.message for log in logs if log.message.startswith("install: ")]

    [line] = wait_until(read, what="the log line")
    return line
