"""What a release holds arrives at its engine as it stands, or is refused before anything is written."""

import random
import shlex
from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.supervisors.unit_text import quote, quote_command, quote_plain
from tests.systemd.units import Units, make_release

HOSTILE = [
    *[
        "",
        " ",
        "  two  ",
        "\t",
        "line\nline",
        "a;b",
        ";",
        "#",
        "'",
        '"',
        "\\",
        "\\n",
        "\\x41",
        "trail\\",
        "%",
        "%%",
        "%n",
        "%h/%i",
        "$HOME",
        "${HOME}",
        "$$",
    ],
    *[
        "$(id)",
        "`id`",
        "-",
        "@",
        "+",
        "!",
        ":",
        "|",
        "é",
        "字",
        "🦜",
        "\u2028",
        "\ufeff",
        "[Service]",
        "ExecStart=/bin/false",
        '{"a": "b\\\\c"}',
        "*",
        "~",
    ],
    "x" * 9000,
]
ALPHABET = "ab \t\n;#'\"\\%$`{}()[]=:@-+!|*?~é字🦜\u00a0\u2028nxu0"
REFUSED = ["\0", "a\x01", "\x1b[1m", "\r", "\x7f", "\ud800", "\udcff", "\ufffe", "\U0001ffff", "\ufdd0"]


def random_texts(seed: int, count: int) -> list[str]:
    """Texts of all that means something to systemd or a shell."""
    source = random.Random(seed)
    return ["".join(source.choices(ALPHABET, k=source.randrange(1, 12))) for _ in range(count)]


def test_words_and_variables_arrive_unchanged(units: Units) -> None:
    """Every word and every variable, blanks, quotes, specifiers, escapes and line breaks included, is what the engine gets."""
    texts = HOSTILE + random_texts(7, 400)
    release = units.dumper("new", texts, {f"V{number}": text for number, text in enumerate(texts)})
    units.start(release)
    words, environment = units.read_dump()
    assert words == texts
    assert [environment[f"V{number}"] for number in range(len(texts))] == texts


def test_paths_with_blanks_and_percent_signs(units: Units) -> None:
    """A program and a working directory with blanks, percent and dollar signs in their names are found."""
    folder = "/opt/test 100% $HOME é"
    units.sandbox.shell(f"mkdir -p {shlex.quote(folder)}; cp -L /usr/bin/python3 {shlex.quote(folder + '/python')}")
    release = units.dumper("new", ["x"], {})
    start = release.start.model_copy(update={"argv": [f"{folder}/python", *release.start.argv[1:]], "working_directory": Path(folder)})
    units.start(units.write(release.model_copy(update={"start": start})))
    assert units.read_dump()[0] == ["x"]
    assert units.sandbox.shell("readlink /proc/$(systemctl show modelpivot-new -p MainPID --value)/cwd") == folder


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text) for text in REFUSED])
def test_what_no_unit_can_carry_is_refused(text: str) -> None:
    """Control characters and what is no UTF-8 are refused by name, in quotes or not."""
    for render in (quote, quote_plain):
        with pytest.raises(PreconditionError, match=r"variable X.*systemd unit cannot carry"):
            render(f"a{text}b", "variable X")


@pytest.mark.parametrize("program", ["python", "", "bin/python", "/opt/it's/python", '/opt/"x"', "/opt/back\\slash"])
def test_program_that_systemd_refuses_is_refused(program: str) -> None:
    """Only an absolute path without quotes and backslashes is taken as a program."""
    with pytest.raises(PreconditionError, match="program"):
        quote_command([program, "x"])


def test_refused_value_writes_nothing(units: Units) -> None:
    """A release that no unit can carry leaves no file behind."""
    release = units.write(make_release("new", ["/bin/sleep", "a\x01"]))
    with pytest.raises(PreconditionError, match="word 1 of the command line"):
        units.start(release)
    assert (
        units.sandbox.shell("ls /etc/systemd/system/modelpivot-* /var/lib/modelpivot/releases/new/unit.service 2>/dev/null || true") == ""
    )
