"""The lanes of docs/architecture.md and the file-name traps of Prefect's loading, held by reading every import."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("modelpivot", "flows", "blocks", "deployments")
GROUND = {"errors", "models"}
DOORS = GROUND | {"host", "lifeline", "files", "waiting", "settings", "recipes"}
READERS = DOORS | {"state", "supervisors"}
CHANGERS = READERS | {"facts", "weights"}
WORKERS = CHANGERS | {"operations", "checks", "benchmark"}
DECIDERS = WORKERS | {"plans", "stages"}
LANES: dict[str, set[str]] = {
    "errors": set(),
    "models": GROUND,
    "host": DOORS,
    "lifeline": DOORS,
    "masking": set(),
    "files": DOORS,
    "waiting": DOORS,
    "settings": DOORS,
    "recipes": DOORS,
    "state": READERS,
    "supervisors": READERS,
    "weights": READERS | {"weights"},
    "mirror": CHANGERS | {"mirror"},
    "facts": CHANGERS,
    "plans": GROUND | {"plans"},
    "operations": CHANGERS | {"operations"},
    "checks": CHANGERS | {"checks"},
    "benchmark": CHANGERS | {"benchmark"},
    "stages": DECIDERS,
    "inside": set(),
}
"""Part of modelpivot -> parts that it may import. Parts not named here (cli, demo and what starts flows) stand on top and may import any."""


def python_files(*folders: str) -> list[Path]:
    """Every module of the named folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    """Full names of what a module imports, inside functions too."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])]) if node.level else node.module or ""
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def part_of(path: Path) -> str:
    """The part of modelpivot that a file belongs to: `facts` for modelpivot/facts/gpus.py, `host` for modelpivot/host.py."""
    return path.relative_to(ROOT / "modelpivot").parts[0].removesuffix(".py")


def parts_imported(path: Path) -> set[str]:
    """The parts of modelpivot that a file imports."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("modelpivot.")}


def tops_imported(path: Path) -> set[str]:
    """The top-level packages that a file imports."""
    return {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("part", LANES)
def test_a_part_imports_only_what_stands_below_it(part: str) -> None:
    """Imports go one way only."""
    wrong = {
        str(path.relative_to(ROOT)): sorted(parts_imported(path) - LANES[part])
        for path in python_files("modelpivot")
        if part_of(path) == part and parts_imported(path) - LANES[part]
    }
    assert wrong == {}


def test_every_named_part_is_there() -> None:
    """A part that was renamed must not leave its lane behind, unguarded."""
    assert set(LANES) <= {part_of(path) for path in python_files("modelpivot")}


def test_the_way_down_is_read_at_all() -> None:
    """The reader of imports sees both forms of import, relative ones and those inside functions; else every lane would hold."""
    assert "models" in parts_imported(ROOT / "modelpivot/plans/pivot.py")
    assert "great_expectations" in tops_imported(ROOT / "modelpivot/checks/suite.py")


def test_the_core_knows_nothing_of_who_uses_it() -> None:
    """modelpivot never imports prefect, flows, blocks or deployments: it starts them with `python -m`."""
    above = {"prefect", "prefect_shell", "flows", "blocks", "deployments"}
    assert {str(path): tops_imported(path) & above for path in python_files("modelpivot") if tops_imported(path) & above} == {}


def test_only_checks_imports_great_expectations() -> None:
    """The library takes seconds to import; nothing but a suite pays for it."""
    users = {part_of(path) for path in python_files("modelpivot") if "great_expectations" in tops_imported(path)}
    assert users == {"checks"}
    assert [path for path in python_files("flows", "blocks", "deployments") if "great_expectations" in tops_imported(path)] == []


def test_checks_import_great_expectations_only_when_a_suite_runs() -> None:
    """No module of checks imports it, or pandas, at its top on the way to `run_suite`."""
    tree = ast.parse((ROOT / "modelpivot/checks/suite.py").read_text())
    names = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    modules = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not {name for name in names | modules if name.startswith(("great_expectations", "pandas", "modelpivot.checks.table"))}


def test_blocks_import_modelpivot_and_not_flows() -> None:
    """A block holds one model of modelpivot and adds nothing."""
    assert {str(path): tops_imported(path) for path in python_files("blocks") if tops_imported(path) & {"flows", "deployments"}} == {}


def test_nobody_imports_tests() -> None:
    """What ships does not need its tests."""
    assert [path for path in python_files(*PACKAGES) if "tests" in tops_imported(path)] == []


def test_inside_imports_nothing_of_ours() -> None:
    """Its scripts run under the engine's Python, where we are not installed."""
    ours = set(PACKAGES) | {"tests"}
    assert {path.name: tops_imported(path) & ours for path in python_files("modelpivot/inside") if tops_imported(path) & ours} == {}


def test_no_file_of_flows_hides_another_module() -> None:
    """Prefect puts flows/ at the front of the path: a file there named as a standard module or one of our packages would be taken for it."""
    taken = set(sys.stdlib_module_names) | set(PACKAGES) | {"tests", "prefect", "pydantic"}
    assert [path.name for path in (ROOT / "flows").glob("*.py") if path.stem in taken] == []


def test_no_class_lives_in_an_entry_point() -> None:
    """Prefect loads an entry-point file as a module of another name: a class there would exist twice and fail its own isinstance."""
    found = {
        path.name: [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
        for path in entry_points()
    }
    assert {name: classes for name, classes in found.items() if classes} == {}


def entry_points() -> list[Path]:
    """Files of flows/ that hold a flow."""
    return [path for path in (ROOT / "flows").glob("*.py") if "@flow" in path.read_text()]


def test_flows_import_absolutely() -> None:
    """A relative import fails where Prefect loads the file as a module of its own."""
    levels = {
        path.name: [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.level]
        for path in python_files("flows")
    }
    assert {name: modules for name, modules in levels.items() if modules} == {}


def test_no_module_is_a_crowd() -> None:
    """One idea a module, under 250 lines."""
    assert {
        str(path.relative_to(ROOT)): lines for path in python_files(*PACKAGES) if (lines := len(path.read_text().splitlines())) > 250
    } == {}
