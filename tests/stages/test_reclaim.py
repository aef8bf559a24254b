"""Reclaim: what nothing needs is gone and measured, whatever a release needs stays, and what remains of it is enough to bring it in again."""

import json
import os
import time
from pathlib import Path

import pytest

from modelpivot.errors import HostHeld, PreconditionError
from modelpivot.facts.views import is_view_standing
from modelpivot.models.cutover import Cutover, Phase
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Deadlines
from modelpivot.state.cutovers import write_intent
from modelpivot.state.reclaimed import read_records
from modelpivot.state.releases import read_book
from modelpivot.state.runs import open_run
from modelpivot.weights.manifest import read_manifest
from modelpivot.weights.verify import verify_directory
from tests.reclaiming import DAY_S, ROOT_ONLY, TMPFS, Pile, holding, in_mounts, names, only_item, problem_of, went
from tests.switching import SwitchHost

OTHER, THIRD = "b" * 40, "c" * 40


@pytest.fixture
def pile(tmp_path: Path) -> Pile:
    """An empty host without soak time."""
    return Pile(tmp_path)


def test_old_weights_go_and_what_they_were_stays_on_record(pile: Pile) -> None:
    """Unused weights are gone, parent folder with them; a record keeps repository, commit and every digest."""
    path = pile.weights()
    manifest = read_manifest(path)
    done = pile.reclaim()
    assert not path.parent.exists() and [gone.id for gone in went(done)] == [f"weights:acme--old/{'a' * 40}"]
    [record] = read_records(pile.state)
    assert manifest and (record.repo, record.commit, record.files, record.phase) == ("acme/old", "a" * 40, manifest.files, "gone")


@ROOT_ONLY
def test_freed_bytes_are_measured_beside_what_was_promised(pile: Pile) -> None:
    """W8: on a file system of its own 8 MB of weights show as free, to the block."""
    script = TMPFS.format(target=str(pile.host.weights_root)) + "pile.weights(bytes_each=4_000_000)\ndone = pile.reclaim()\n"
    promised, freed = in_mounts(pile, f"{script}print(done.promised_bytes, done.freed_bytes)").split()
    assert int(promised) > 8_000_000 and abs(int(freed) - int(promised)) <= 8192


def test_what_releases_need_stays_and_is_still_true(pile: Pile) -> None:
    """Weights of the current and the previous release stay; after a reclaim of all else their views stand and verify says complete."""
    old, new, over = pile.weights("acme/old"), pile.weights("acme/new", OTHER), pile.weights("acme/over", THIRD)
    releases = [pile.release(name, weights) for name, weights in (("over", over), ("old", old), ("new", new))]
    pile.promote(*releases)
    done = pile.reclaim_all()
    assert {gone.id for gone in went(done)} == {"views:releases/over", f"weights:acme--over/{THIRD}"}
    for path, release in ((old, releases[1]), (new, releases[2])):
        manifest = read_manifest(path)
        assert manifest and verify_directory(path, manifest, is_full=True, tell=lambda *_, **__: None).verdict.verdict == "complete"
        assert is_view_standing(release)
    assert (read_book(pile.state).current, read_book(pile.state).previous) == ("new", "old")
    assert "the previous release" in pile.why(f"weights:acme--old/{'a' * 40}")


def test_the_newest_that_never_served_is_the_candidate(pile: Pile) -> None:
    """What was staged and waits for its cutover stays, soak time or not."""
    pile.promote(pile.release("old", pile.weights()))
    pile.release("staged", pile.weights("acme/new", OTHER))
    assert pile.items() == []
    assert "the candidate release" in pile.why(f"weights:acme--new/{OTHER}")


def test_soak_time_counts_from_the_end_of_use(tmp_path: Path) -> None:
    """A release that was replaced yesterday stays for the rest of its week, and so do its weights, however old their files are."""
    pile = Pile(tmp_path, reclaim_after_s=7 * DAY_S)
    weights = [pile.weights(f"acme/m{number}", str(number) * 40) for number in range(3)]
    pile.promote(*(pile.release(f"r{number}", path) for number, path in enumerate(weights)))
    assert pile.items("views", "weights") == []
    assert "of the 7 days" in pile.why(f"weights:acme--m0/{'0' * 40}")


def test_what_a_living_run_planned_stays(pile: Pile) -> None:
    """A run that waits for a person holds no lock; the weights and environment of its candidate are its own all the same."""
    weights = pile.weights()
    release = pile.release("planned", weights)
    run = open_run(pile.state, "waiting")
    recipe = {"name": "planned", "model": {"repo": "acme/old"}, "engine": {"name": "vllm"}, "serve": {"served_name": "x"}}
    plan = Plan.model_validate(
        {"recipe": recipe, "from_release": None, "candidate": release, "manifest": None, "resolution": None}, strict=False
    )
    run.plan.write_text(plan.model_dump_json())
    (pile.state.release("planned").release).unlink()
    assert "run waiting names it" in pile.why(f"weights:acme--old/{'a' * 40}")


@pytest.mark.parametrize(("phase", "words"), [("warming", "is open"), ("probing", "is to be taken back first")])
def test_nothing_goes_while_a_switch_is_open(pile: Pile, phase: Phase, words: str) -> None:
    """An open switch needs both its releases; reclaim waits for its end and says so."""
    pile.promote(pile.release("old", pile.weights()))
    path = pile.weights("acme/free", OTHER)
    made = pile.plan()
    now = time.time()
    cutover = Cutover(
        id="s", run_id="r", from_release="old", to_release="new", deadlines=Deadlines(), lock_token="t", created_at=now, phase=phase
    )
    write_intent(pile.state, cutover)
    assert pile.items() == [] and "a switch is open" in pile.why(f"weights:acme--free/{OTHER}")
    with pytest.raises(PreconditionError, match=words):
        pile.reclaim(made)
    assert path.exists()


def test_the_host_is_held_meanwhile(switch_host: SwitchHost) -> None:
    """Another run that may change this host keeps a reclaim out."""
    pile = Pile(switch_host.root / "pile", state_dir=switch_host.config.state_dir)
    path = pile.weights()
    with switch_host.held_by_another(), pytest.raises(HostHeld):
        pile.reclaim()
    assert path.exists()


def test_nobody_agreed(pile: Pile) -> None:
    """Without a word nothing goes, and what could is listed with its id."""
    path = pile.weights()
    with pytest.raises(PreconditionError, match=f"weights:acme--old/{'a' * 40}"):
        pile.reclaim(yes=False)
    assert path.exists()


def test_what_no_manifest_names_goes_by_its_name_only(pile: Pile) -> None:
    """A merged GGUF stays at a plain yes, also beside fetched weights; by its id it goes."""
    stray, mixed = pile.stray(), pile.weights()
    (mixed / "tuned.safetensors").write_bytes(b"t" * 1000)
    pile.weights("acme/free", OTHER)
    done = pile.reclaim()
    assert stray.exists() and mixed.exists()
    assert set(done.left) == {f"weights:acme--old/{'a' * 40}", "weights:glm5-gguf"}
    pile.reclaim(named=("weights:glm5-gguf",), yes=False)
    assert not stray.exists() and mixed.exists()
    assert [file.path for file in read_records(pile.state)[-1].files] == ["merged.gguf"]


def test_weights_of_a_strange_name_are_irreplaceable_too(pile: Pile) -> None:
    """A tune whose name holds a newline, or is no UTF-8, is no less the only one there is."""
    path = pile.weights()
    (path / "tune\nd.gguf").write_bytes(b"t")
    assert only_item(pile.plan(), "acme--old").found.irreplaceable == ["tune\\nd.gguf"]
    (path / "tune\nd.gguf").unlink()
    (path / os.fsdecode(b"t\xfc.gguf")).write_bytes(b"t")
    assert only_item(pile.plan(), "acme--old").ask == "named"


@pytest.mark.parametrize("name", ["two\nlines", os.fsdecode(b"\xff\xfe"), "back\\slash", " ", "-rf", "…"])
def test_a_folder_of_any_name_goes_by_its_spelled_id(pile: Pile, name: str) -> None:
    """Names with newlines, backslashes or bytes that are no UTF-8 are shown on one line, written as JSON, and go as any other."""
    folder = pile.stray(name)
    [item] = pile.plan().items
    assert json.loads(pile.plan().model_dump_json())["items"][0]["found"]["parts"][0]["name"] == item.found.name
    assert "\n" not in item.id
    done = pile.reclaim(named=(item.id,))
    assert done.failed == [] and not folder.exists() and names(pile.host.weights_root) == set()


def test_environments_beyond_the_newest_go(pile: Pile) -> None:
    """The newest that nothing needs stays, as do those that a release names; one that links to uv's cache promises only what is its own."""
    weights, cache = pile.weights(), pile.root / "uv-cache"
    used = pile.environment("1", age_s=9000)
    old, newest = pile.environment("2", age_s=6000, cache=cache), pile.environment("3", age_s=3000)
    pile.promote(pile.release("now", weights, environment=used))
    item = only_item(pile.plan(), old.name)
    assert item.found.size_bytes - item.found.frees_bytes >= 50_000
    assert [gone.path for gone in went(pile.reclaim())] == [str(old)]
    assert used.exists() and newest.exists() and (cache / "x.so").stat().st_nlink == 1


def test_an_environment_that_somebody_builds_stays(pile: Pile) -> None:
    """Its lock beside it is held by another process."""
    pile.environment("1", age_s=100)
    old = pile.environment("0", age_s=9000)
    lock = old.with_name(f".{old.name}.lock")
    lock.touch()
    with holding(f"f = open({str(lock)!r})"):
        assert "holds it open" in pile.why(f"environments:{old.name}")
    assert pile.items("environments") == [f"environments:{old.name}"]


def test_kernels_of_a_release_that_is_over_go_first(tmp_path: Path) -> None:
    """In its soak time a retired release gives its compiled kernels, and nothing else; the current one gives nothing."""
    pile = Pile(tmp_path, reclaim_after_s=7 * DAY_S)
    weights = pile.weights()
    for name in ("over", "old", "new"):
        pile.promote(pile.release(name, weights))
        (pile.state.release(name).caches / "vllm").mkdir(parents=True)
        (pile.state.release(name).caches / "vllm/kernel").write_bytes(b"k" * 10_000)
    assert pile.items() == ["kernels:releases/over/caches"]
    pile.reclaim()
    assert not pile.state.release("over").caches.exists() and pile.state.release("over").view.exists()


def test_partials_beside_whole_weights_go_and_the_one_in_use_stays(pile: Pile) -> None:
    """D2: three stale ones beside one that a process writes to, in weights that serve."""
    path = pile.weights()
    pile.promote(pile.release("now", path))
    partials = [path / ".modelpivot/partial" / f"{name}.part" for name in "abcd"]
    for partial in partials:
        partial.parent.mkdir(exist_ok=True)
        partial.write_bytes(b"p" * 5000)
    with holding(f"f = open({str(partials[3])!r}, 'ab')"):
        done = pile.reclaim()
        assert len(went(done)) == 3 and [partial.exists() for partial in partials] == [False, False, False, True]
    pile.reclaim()
    manifest = read_manifest(path)
    assert manifest and verify_directory(path, manifest, tell=lambda *_, **__: None).verdict.verdict == "complete"


def test_a_kind_alone(pile: Pile) -> None:
    """`only` leaves every other kind out."""
    pile.weights()
    pile.environment("1", age_s=100)
    pile.environment("0", age_s=9000)
    assert len(pile.items("environments")) == 1 and len(pile.items("weights")) == 1 and len(pile.items()) == 2


def test_a_second_reclaim_has_nothing_to_do(pile: Pile) -> None:
    """Nothing may go any more, and nothing lies about."""
    pile.weights()
    pile.reclaim()
    assert pile.reclaim().items == [] and names(pile.host.weights_root) == set()


def test_one_that_cannot_go_keeps_no_other(pile: Pile) -> None:
    """What changed since it was planned stays, the rest goes."""
    first, second = pile.weights("acme/a"), pile.weights("acme/b", OTHER)
    made = pile.plan()
    (first / "new-file").write_text("came after the plan")
    done = pile.reclaim(made)
    assert "changed since it was planned" in problem_of(done, "acme--a") and first.exists() and not second.exists()
    assert (first / "new-file").read_text() == "came after the plan"
