"""pip's configuration becomes uv's, as companies have it."""

from pathlib import Path

import pytest

from modelpivot.facts.pip import parse_pip_file, parse_uv_file, pip_files, read_pip, uv_environment, uv_twins

NONE = {"PIP_CONFIG_FILE": "/dev/null", "HOME": "/nonexistent"}


@pytest.mark.parametrize(
    ("environ", "twins"),
    [
        ({"PIP_FIND_LINKS": "/wheels"}, {"UV_FIND_LINKS": "/wheels"}),
        ({"PIP_FIND_LINKS": "/wheels\n https://a/links "}, {"UV_FIND_LINKS": "/wheels,https://a/links"}),
        ({"PIP_INDEX_URL": "https://a/simple"}, {"UV_DEFAULT_INDEX": "https://a/simple"}),
        (
            {"PIP_EXTRA_INDEX_URL": "https://a/simple  https://b/simple"},
            {"UV_INDEX": "https://a/simple https://b/simple", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ({"PIP_CONSTRAINT": "/a/c.txt"}, {"UV_CONSTRAINT": "/a/c.txt"}),
        ({"PIP_TRUSTED_HOST": "a b"}, {"UV_INSECURE_HOST": "a b"}),
        ({"PIP_CERT": "/a.pem"}, {"SSL_CERT_FILE": "/a.pem"}),
        ({"PIP_FIND_LINKS": "  "}, {}),
        ({"PIP_NO_INPUT": "1"}, {}),
    ],
)
def test_each_of_pips_variables_has_its_twin(environ: dict[str, str], twins: dict[str, str]) -> None:
    """Lists are split as pip splits and joined as uv splits; with extra indexes uv takes the best of all, as pip does."""
    assert uv_twins(environ, read_pip(environ | NONE)) == twins


@pytest.mark.parametrize(
    ("set_for_uv", "variable"),
    [
        ({"UV_FIND_LINKS": "/own"}, "PIP_FIND_LINKS"),
        ({"UV_DEFAULT_INDEX": "https://own"}, "PIP_INDEX_URL"),
        ({"UV_INDEX_URL": "https://own"}, "PIP_INDEX_URL"),
        ({"UV_INDEX": "https://own"}, "PIP_EXTRA_INDEX_URL"),
        ({"UV_EXTRA_INDEX_URL": "https://own"}, "PIP_EXTRA_INDEX_URL"),
    ],
)
def test_what_uv_is_told_itself_stays(set_for_uv: dict[str, str], variable: str) -> None:
    """A variable of uv's, under either of its names, wins over pip's."""
    environ = {**NONE, **set_for_uv, variable: "https://pips"}
    assert uv_environment(environ) == environ


def test_a_stated_strategy_stays() -> None:
    """Who told uv how to choose between indexes is not overruled."""
    environ = {**NONE, "PIP_EXTRA_INDEX_URL": "https://a", "UV_INDEX_STRATEGY": "first-index"}
    assert uv_environment(environ)["UV_INDEX_STRATEGY"] == "first-index"


def test_pips_file_is_read_with_its_sections() -> None:
    """[install] stands over [global], lists may take several lines, other sections and options do not count."""
    text = "[global]\nindex-url = https://a\nfind_links =\n  /one\n  /two\ntimeout = 60\n[install]\nindex-url = https://b\n[list]\nformat = json\n"
    assert parse_pip_file(text) == {"index-url": ("https://b",), "find-links": ("/one", "/two")}


@pytest.mark.parametrize("text", ["", "no section = 1", "[global\n", "\x00"])
def test_a_file_that_is_none_of_pips_gives_nothing(text: str) -> None:
    """A broken file is pip's trouble; we go on without it."""
    assert parse_pip_file(text) == {}


def test_the_nearer_file_wins_and_variables_win_over_files(tmp_path: Path) -> None:
    """Machine, then user, then PIP_CONFIG_FILE, then PIP_*."""
    (tmp_path / "xdg/pip").mkdir(parents=True)
    (tmp_path / "config/pip").mkdir(parents=True)
    (tmp_path / "xdg/pip/pip.conf").write_text("[global]\nindex-url = machine\nfind-links = machine\nextra-index-url = machine\n")
    (tmp_path / "config/pip/pip.conf").write_text("[global]\nindex-url = user\nfind-links = user\n")
    (tmp_path / "own.conf").write_text("[global]\nindex-url = own\n")
    environ = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PIP_CONFIG_FILE": str(tmp_path / "own.conf"),
    }
    pip = read_pip(environ)
    assert (pip["index-url"], pip["find-links"], pip["extra-index-url"]) == (("own",), ("user",), ("machine",))
    assert read_pip(environ | {"PIP_INDEX_URL": "variable"})["index-url"] == ("variable",)


def test_no_file_is_read_where_pip_reads_none() -> None:
    """PIP_CONFIG_FILE=/dev/null switches pip's files off."""
    assert pip_files({"PIP_CONFIG_FILE": "/dev/null", "HOME": "/root"}) == []


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('[[index]]\nurl = "https://a"\n', {"index-url", "extra-index-url"}),
        ('find-links = ["/a"]\n', {"find-links"}),
        ('[pip]\nindex-url = "https://a"\n', {"index-url", "extra-index-url"}),
        ("native-tls = true\n", set()),
        ("not toml", set()),
    ],
)
def test_uvs_own_file_counts_as_told(text: str, keys: set[str]) -> None:
    """Indexes in uv.toml speak for all indexes: pip's are not added to them."""
    assert parse_uv_file(text) == keys


def test_uvs_file_keeps_pips_index_away(tmp_path: Path) -> None:
    """An index in uv.toml, one in pip.conf: uv hears of its own alone."""
    (tmp_path / "uv.toml").write_text('[[index]]\nurl = "https://own"\n')
    environ = {**NONE, "UV_CONFIG_FILE": str(tmp_path / "uv.toml"), "PIP_INDEX_URL": "https://pips", "PIP_FIND_LINKS": "/wheels"}
    assert uv_environment(environ) == {**environ, "UV_FIND_LINKS": "/wheels"}
