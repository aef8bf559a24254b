"""The engine's output, from the journal into the release's log."""

from tests.systemd.units import PYTHON, Units, make_release

UNIT = "modelpivot-new.service"


def test_log_holds_the_last_start_alone(units: Units) -> None:
    """The log has what the engine said since its last start, every line once however often it is read; log.1 has the start before."""
    release = units.release("new")
    units.start(release)
    units.wait_answers(release)
    first = units.read_log(release)
    units.stop(release)
    units.start(release)
    units.wait_answers(release)
    log = units.wait(lambda: "startup complete" in (now := units.read_log(release)) and now, what="the log")
    assert isinstance(log, str) and units.read_log(release) == log
    assert log.count("Application startup complete") == 1
    assert "4/4" in log
    assert units.sandbox.read("/var/lib/modelpivot/releases/new/log.1").startswith(first)


def test_dead_engine_leaves_its_last_words(units: Units) -> None:
    """As soon as an engine is seen dead its traceback is in the log, whole."""
    release = units.release("new", fault="die_at_start")
    units.start(release)
    units.wait(lambda: units.status(release).state == "failed", what="the death")
    log = units.read_log(release)
    assert "KeyError: 'layers.1.mlp.gate.e_score_correction_bias'" in log and "at the end, line 8" in log


def test_a_program_that_ends_before_the_journal_looks_has_its_words_too(units: Units) -> None:
    """Its line carries no invocation then, which happens more often than not: each of ten starts has it in its log, and has it once."""
    release = units.write(make_release("new", ["/bin/sh", "-c", "echo no GPU here; exit 3"]))
    for _ in range(10):
        units.start(release)
        units.wait(lambda: units.status(release).state == "failed", what="the death")
        assert units.read_log(release).splitlines().count("no GPU here") == 1
        units.stop(release)


def test_hostile_output(units: Units) -> None:
    """O2: carriage returns, bytes that are no UTF-8, a line of 2 MB and a flood of lines reach the log in order, nothing is left out."""
    script = (
        "import sys, time; o = sys.stdout.buffer; o.write(b'a\\rb\\n\\xff\\xfe bad\\n' + b'x' * 2_000_000 + b'\\n');"
        "o.write(b''.join(b'line %d\\n' % n for n in range(20_000)) + b'end\\n'); o.flush(); time.sleep(3600)"
    )
    release = units.write(make_release("new", [PYTHON, "-c", script]))
    units.start(release)
    log = units.wait(lambda: (now := units.read_log(release)).endswith("end\n") and now, what="the end")
    assert isinstance(log, str)
    assert "a\nb\n" in log and " bad\n" in log and log.count("x") >= 2_000_000
    assert [line for line in log.splitlines() if line.startswith("line ")] == [f"line {number}" for number in range(20_000)]


def test_backlog_of_weeks_is_cut_to_its_end(units: Units) -> None:
    """A log that was not read for longer than anybody reads holds the last lines, and goes on from there."""
    script = (
        "import os, time; os.mkfifo('/run/test-go'); print('first', flush=True); open('/run/test-go').read();"
        "print(*range(120_000), sep='\\n', flush=True); time.sleep(3600)"
    )
    release = units.write(make_release("new", [PYTHON, "-c", script]))
    units.start(release)
    units.wait(lambda: "first\n" in units.read_log(release), what="the first line")
    units.sandbox.shell(": > /run/test-go")
    units.wait(lambda: "119999" in units.sandbox.journal(UNIT)[-1:], what="the last line")
    lines = units.read_log(release).splitlines()
    assert lines[-1] == "119999" and lines == [str(number) for number in range(120_000 - len(lines), 120_000)]
    assert len(lines) < 60_000
