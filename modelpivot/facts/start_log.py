"""What an engine's log says about its start: the phase, how much was told, and why it failed.

Sample: (EngineCore pid=1499) Loading safetensors checkpoint shards:   4% Completed | 2/56 [00:00<00:09,  5.95it/s]
        (EngineCore pid=1773) ERROR 11-30 08:36:00 [core.py:1330] KeyError: 'layers.1.mlp.gate.e_score_correction_bias'
"""

import re
from collections.abc import Iterator
from pathlib import Path

from modelpivot.models.readiness import StartPhase

READ_BYTES = 400_000
"""Of head and of tail of a log; what lies between is passed over."""
CAUSE_LINES = 12

PHASES = (
    ("configuring", re.compile(r"non-default args|Resolved architecture")),
    ("engine", re.compile(r"Initializing a V\d LLM engine")),
    ("weights", re.compile(r"Starting to load model|Loading model from scratch|Loading \w+ checkpoint shards")),
    ("memory", re.compile(r"Model loading took|KV cache memory|KV cache size|GiB for KV cache")),
    ("compile", re.compile(r"directory: \S*torch_compile_cache|Dynamo bytecode|Compiling a graph|torch\.compile took")),
    ("graphs", re.compile(r"Capturing CUDA graphs?|Graph capturing")),
    ("listening", re.compile(r"Starting vLLM (API )?server")),
    ("up", re.compile(r"Application startup complete")),
)
COUNT = re.compile(r"(\d+)/(\d+) \[")
PREFIX = re.compile(r"^\([\w.-]+ pid=\d+\) ?")
LEVEL = re.compile(r"^(DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?: \[[^\]]*\])? ?")
IDLE = re.compile(r"\bwaiting for\b|no available shared memory broadcast|: Avg prompt throughput|:\d+ - \"[A-Z]+ /", re.IGNORECASE)
"""Lines that an engine goes on to write without getting any further: waiting, statistics, access log."""
TRACEBACK = "Traceback (most recent call last):"
EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Refused|Failed)\b(?::.*)?$")
ECHO = re.compile(r"See root cause above|Engine core initialization failed|EngineDeadError|WorkerProc initialization failed")
USAGE = re.compile(r"^[\w./-]+: error: ")


def read_start_log(path: Path) -> StartPhase:
    """The phase in the log; the first word of all when there is no log yet."""
    try:
        with path.open("rb") as file:
            content = file.read(READ_BYTES)
            size = file.seek(0, 2)
            if size > READ_BYTES:
                file.seek(max(READ_BYTES, size - READ_BYTES))
                content += b"\n" + file.read(READ_BYTES)
    except FileNotFoundError:
        return StartPhase()
    return parse_start_log(content.decode(errors="replace"))


def read_last_lines(path: Path, count: int) -> list[str]:
    """The last lines that say something; empty when there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 20_000))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.rstrip()[:500] for line in re.split(r"[\r\n]+", text) if line.strip()][-count:]


def parse_start_log(text: str) -> StartPhase:
    """Phase, count of different lines, and the cause when it failed."""
    lines = [_bare(line) for line in re.split(r"[\r\n]+", text)]
    word, done, total = "starting", None, None
    told = dict.fromkeys(line for _, line in lines if line)
    for line in reversed(told):
        if (found := _phase(line)) is not None:
            word, (done, total) = found, _count(line)
            break
    told_new = [line for line in told if not IDLE.search(line)]
    return StartPhase(word=word, done=done, total=total, progress_lines=len(told_new), cause=_find_cause(lines))


def _bare(line: str) -> tuple[str, str]:
    """Level and text of a line, without its process and time."""
    line = PREFIX.sub("", line.rstrip())
    level = LEVEL.match(line)
    return (level.group(1), line[level.end() :]) if level else ("", line)


def _phase(line: str) -> str | None:
    return next((word for word, pattern in PHASES if pattern.search(line)), None)


def _count(line: str) -> tuple[int | None, int | None]:
    found = COUNT.search(line)
    return (int(found.group(1)), int(found.group(2))) if found else (None, None)


def _find_cause(lines: list[tuple[str, str]]) -> list[str]:
    """The last words of every different traceback, the first one first, with the place where it rose; without any, what was said at level ERROR."""
    texts = [line for _, line in lines]
    raised = list(dict.fromkeys(_read_tracebacks(texts)))
    roots = [words for words in raised if not ECHO.search(words[-1])] or raised
    usage = [line for line in texts if USAGE.match(line)]
    errors = [line for level, line in lines if level in ("ERROR", "CRITICAL") and line.strip() and not ECHO.search(line)]
    cause = [line for words in roots for line in words] or usage or list(dict.fromkeys(errors))
    return cause[:CAUSE_LINES]


def _read_tracebacks(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """For every traceback: its innermost place in two lines, then the exception with what follows it of its message."""
    place: list[str] = []
    is_inside = False
    for number, line in enumerate(lines):
        if line.strip() == TRACEBACK:
            is_inside, place = True, []
        elif is_inside and line.startswith('  File "'):
            place = [line.strip(), *(following.strip() for following in lines[number + 1 : number + 2])]
        elif is_inside and EXCEPTION.match(line):
            is_inside = False
            yield (*place, line, *_read_message_rest(lines[number + 1 : number + 5]))


def _read_message_rest(lines: list[str]) -> Iterator[str]:
    """Lines of a message that spans several: those that are indented."""
    for line in lines:
        if not line.startswith("  ") or line.lstrip().startswith("File "):
            return
        yield line.rstrip()
