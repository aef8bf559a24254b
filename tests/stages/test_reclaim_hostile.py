"""What must never happen: a byte outside the roots, behind a link or a mount, or in somebody's hands. Each is tried for real."""

import os
from pathlib import Path

import pytest

from modelpivot.host import run_command
from modelpivot.models.reclaim import ReclaimPlan
from tests.reclaiming import BIND, ROOT_ONLY, TMPFS, Pile, holding, in_mounts, names, problem_of, went

OTHER = "b" * 40


@pytest.fixture
def pile(tmp_path: Path) -> Pile:
    """An empty host without soak time."""
    return Pile(tmp_path)


def fill(folder: Path) -> set[bytes]:
    """Something precious outside the roots; its names."""
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/precious.safetensors").write_bytes(b"precious" * 1000)
    return names(folder)


def test_links_out_of_the_roots_are_removed_and_not_followed(pile: Pile) -> None:
    """Links to a file, to a folder, to nothing and to the root go as links; what they lead to stays."""
    before, path = fill(pile.root / "outside"), pile.weights()
    for name, target in {"file": "outside/deep/precious.safetensors", "folder": "outside", "nothing": "nowhere", "root": "weights"}.items():
        (path / name).symlink_to(pile.root / target)
    done = pile.reclaim()
    assert done.failed == [] and not path.exists() and names(pile.root / "outside") == before


def test_a_link_in_the_root_is_nothing_to_reclaim(pile: Pile) -> None:
    """A directory of weights that is a link out of the root, at either level, is not offered and not touched."""
    before = fill(pile.root / "outside")
    (pile.host.weights_root / "acme--linked").symlink_to(pile.root / "outside")
    (pile.host.weights_root / "acme--half").mkdir()
    (pile.host.weights_root / "acme--half" / OTHER).symlink_to(pile.root / "outside")
    assert pile.items() == []
    pile.reclaim_all()
    assert names(pile.root / "outside") == before and (pile.host.weights_root / "acme--linked").is_symlink()


@pytest.mark.parametrize("level", ["the commit", "its parent"])
def test_a_folder_swapped_for_a_link_between_plan_and_act(pile: Pile, level: str) -> None:
    """The race: what was a folder when it was planned is a link to something precious now. Nothing behind it is touched."""
    path = pile.weights()
    made = pile.plan()
    swapped = path if level == "the commit" else path.parent
    swapped.rename(pile.root / "moved-away")
    before = fill(pile.root / "outside" / "a" / ("a" * 40))
    swapped.symlink_to(pile.root / "outside" / "a" if level == "its parent" else pile.root / "outside" / "a" / ("a" * 40))
    done = pile.reclaim(made)
    assert len(done.failed) == 1 and swapped.is_symlink()
    assert names(pile.root / "outside" / "a" / ("a" * 40)) == before


def test_a_folder_inside_swapped_for_a_link(pile: Pile) -> None:
    """The same deep inside: the tree is no longer what was agreed to, and stays whole."""
    path = pile.weights()
    (path / "extra").mkdir()
    (path / "extra/file").write_text("x")
    made = pile.plan()
    before = fill(pile.root / "outside")
    (path / "extra").rename(pile.root / "extra")
    (path / "extra").symlink_to(pile.root / "outside")
    assert "changed since it was planned" in problem_of(pile.reclaim(made), "acme--old")
    assert names(pile.root / "outside") == before and (path / "config.json").exists()


@pytest.mark.parametrize("change", ["added", "removed", "written", "replaced"])
def test_what_was_not_planned_does_not_go(pile: Pile, change: str) -> None:
    """A file added, removed, written to or replaced since the plan: the whole of it stays, under its own name, and nothing lies in the trash."""
    path = pile.weights()
    made = pile.plan()
    config = path / "config.json"
    if change == "added":
        (path / "appeared").write_text("not in the plan")
    elif change == "removed":
        config.unlink()
    elif change == "written":
        config.write_text('{"a": 1}')
    else:
        config.with_name("next").write_text("{}")
        os.utime(config.with_name("next"), ns=(config.stat().st_atime_ns, config.stat().st_mtime_ns))
        config.with_name("next").rename(config)
    before = names(pile.host.weights_root)
    assert "changed since it was planned" in problem_of(pile.reclaim(made), "acme--old")
    assert names(pile.host.weights_root) == before


@ROOT_ONLY
def test_hard_links_are_promised_as_what_they_free(pile: Pile) -> None:
    """A shard with a name elsewhere frees nothing and stays readable there; one with two names inside counts once. Promised as measured."""
    root = pile.host.weights_root
    script = (
        TMPFS.format(target=str(root))
        + f"""
path = pile.weights(bytes_each=1_000_000)
outside, (first, second) = Path({str(root)!r}) / "kept.safetensors", sorted(path.glob("*.safetensors"))
os.link(first, outside)
os.link(second, path / "again.safetensors")
content, item = outside.read_bytes(), only_item(pile.plan(), "acme--old")
done = pile.reclaim_all()
print(item.found.size_bytes, done.promised_bytes, done.freed_bytes, path.exists(), outside.read_bytes() == content, outside.stat().st_nlink)
"""
    )
    size, promised, freed, *rest = in_mounts(pile, script).split()
    assert rest == ["False", "True", "1"] and int(size) > 2_000_000 > int(promised) > 1_000_000
    assert abs(int(promised) - int(freed)) <= 8192


@pytest.mark.parametrize(
    "line",
    [
        "f = open(sys.argv[1] + '/config.json')",
        "import mmap; f = open(sys.argv[1] + '/config.json'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close()",
        "import os; os.chdir(sys.argv[1] + '/.modelpivot')",
    ],
    ids=["open", "mapped", "working directory"],
)
def test_what_a_process_holds_stays_and_it_is_named(pile: Pile, line: str) -> None:
    """W8: open, mapped, or as a working directory; at planning, and when it came between plan and act."""
    path = pile.weights()
    made = pile.plan()
    with holding(f"import sys; {line}", str(path)) as pid:
        assert f"process {pid}" in pile.why(f"weights:acme--old/{'a' * 40}")
        assert f"process {pid}" in problem_of(pile.reclaim(made), "acme--old")
        assert (path / "config.json").exists()
    assert len(went(pile.reclaim())) == 1


def test_a_name_on_a_command_line_is_a_claim(pile: Pile) -> None:
    """An engine that loaded its weights and closed them still serves from them: it names them, and they stay."""
    path = pile.stray()
    with holding("import sys", "serve", "--model", str(path / "merged.gguf")) as pid:
        assert f"process {pid}" in pile.why("weights:glm5-gguf")
    assert pile.items() == ["weights:glm5-gguf"]


def test_a_process_of_a_sibling_environment_holds_only_its_own(pile: Pile) -> None:
    """uv links one file into both: who has it open by the one name does not keep the other."""
    pile.environment("9", age_s=10)
    mine, theirs = pile.environment("1", age_s=9000), pile.environment("2", age_s=8000)
    library = "lib/python3.11/site-packages/x.so"
    (theirs / library).unlink()
    os.link(mine / library, theirs / library)
    with holding(f"f = open({str(theirs / library)!r})"):
        assert pile.items() == [f"environments:{mine.name}"]
        assert len(went(pile.reclaim())) == 1
    assert (theirs / library).exists() and not mine.exists()


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    """A root that leads to another disk is used as such; when it leads elsewhere at the act, nothing goes."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "weights").symlink_to(tmp_path / "one")
    pile = Pile(tmp_path / "pile", weights_root=tmp_path / "weights")
    pile.weights()
    made = pile.plan()
    (tmp_path / "weights").unlink()
    (tmp_path / "weights").symlink_to(tmp_path / "two")
    twin = pile.weights()
    pile.reclaim(made)
    assert twin.exists()
    assert len(went(pile.reclaim())) == 1 and not twin.exists()


def test_another_folder_in_the_place_of_the_root(pile: Pile) -> None:
    """The root's own folder was replaced since the plan: refused."""
    pile.weights()
    made = pile.plan()
    pile.host.weights_root.rename(pile.root / "away")
    path = pile.weights()
    assert "expected the folder that was planned for" in problem_of(pile.reclaim(made), "acme--old")
    assert path.exists()


def test_roots_nested_in_each_other(tmp_path: Path) -> None:
    """Environments, state and Hub cache below the weights root are no weights; what is, goes."""
    pool = tmp_path / "pool"
    pile = Pile(tmp_path, weights_root=pool, environments_root=pool / "env/inside", state_dir=pool / "state", hub_cache=pool / "hf/hub")
    for folder in (pool / "env", pool / "state", pool / "hf"):
        (folder / "some.safetensors").write_bytes(b"x")
    path = pile.weights()
    assert pile.items() == [f"weights:acme--old/{'a' * 40}"]
    assert "root" in pile.why("weights:env") and "root" in pile.why("weights:hf") and "root" in pile.why("weights:state")
    pile.reclaim_all()
    assert not path.exists() and all((pool / name).exists() for name in ("env/inside", "state", "hf/hub"))


def test_a_link_elsewhere_in_the_roots_keeps_what_it_leads_to(pile: Pile) -> None:
    """Somebody's folder of links to our shards: they stay for as long as it is there."""
    path = pile.weights()
    folder = pile.host.weights_root / "by-hand"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(path / "model-00001-of-00002.safetensors")
    assert "by-hand/model.safetensors leads into it" in pile.why(f"weights:acme--old/{'a' * 40}")


def test_a_word_of_a_command_line_keeps_what_it_names(pile: Pile) -> None:
    """The draft model of speculative decoding stands in the release's arguments and in no view."""
    draft = pile.stray("draft")
    release = pile.release("now", pile.weights())
    words = [*release.start.argv, "--speculative-config", f'{{"model": "{draft}", "num_speculative_tokens": 3}}']
    start = release.start.model_copy(update={"argv": words})
    (pile.state.release("now").release).write_text(release.model_copy(update={"start": start}).model_dump_json())
    pile.promote(release)
    assert "now names it" in pile.why("weights:draft")


def test_deeper_than_any_model(pile: Pile) -> None:
    """A tree that would take a descriptor for each of hundreds of levels is left alone, with the reason."""
    folder = pile.stray()
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(folder)
        for _ in range(300):
            os.mkdir("d")  # noqa: PTH102
            os.chdir("d")
    finally:
        os.chdir(here)
    assert "deeper than" in pile.why("weights:glm5-gguf")


@ROOT_ONLY
@pytest.mark.parametrize("is_late", [False, True], ids=["before the plan", "after the plan"])
@pytest.mark.parametrize("kind", ["folder", "file", "other file system"])
def test_a_mount_point_inside_is_never_entered(pile: Pile, kind: str, is_late: bool) -> None:
    """A bind mount has the same device as the tree around it: by its mount it is seen, and the whole of it stays."""
    path, before = pile.weights(), fill(pile.root / "outside")
    (path / "mounted").mkdir()
    if kind == "file":
        mount = BIND.format(source=str(pile.root / "outside/deep/precious.safetensors"), target=str(path / "config.json"))
    elif kind == "folder":
        mount = BIND.format(source=str(pile.root / "outside"), target=str(path / "mounted"))
    else:
        mount = TMPFS.format(target=str(path / "mounted"))
    steps = ["made = pile.plan()\n", mount] if is_late else [mount, "made = pile.plan()\n"]
    last = "done = pile.reclaim_all(made)\nprint([gone.problem for gone in done.items] or [kept.why for kept in made.kept])"
    assert "mount point" in in_mounts(pile, "".join(steps) + last)
    assert names(pile.root / "outside") == before and (path / "config.json").exists()


@ROOT_ONLY
def test_a_container_that_has_it_mounted_keeps_it(pile: Pile) -> None:
    """Another mount namespace has the folder as /mnt, open by nobody, named by nobody: it is in use."""
    path = pile.stray()
    (pile.root / "list").write_text(f"import subprocess\nsubprocess.run(['mount', '--bind', {str(path)!r}, '/mnt'], check=True)\n")
    line = f"exec(open({str(pile.root / 'list')!r}).read())"
    with holding(line, under=("unshare", "--mount", "--propagation", "private")) as pid:
        assert f"process {pid} (has it mounted at /mnt)" in pile.why("weights:glm5-gguf")
    assert pile.items() == ["weights:glm5-gguf"]


@ROOT_ONLY
def test_a_mount_on_the_way_is_not_taken(pile: Pile) -> None:
    """`<org>--<name>` itself is a mount point: another disk, and no part of this root."""
    path = pile.weights()
    mount = BIND.format(source=str(path.parent), target=str(path.parent))
    said = in_mounts(pile, f"{mount}made = pile.plan()\nprint(made.items, [kept.why for kept in made.kept])")
    assert said.startswith("[]") and "mount point" in said and path.exists()


@ROOT_ONLY
def test_a_root_that_is_read_only(pile: Pile) -> None:
    """Everything below it stays, and the plan says why."""
    path = pile.weights()
    root = str(pile.host.weights_root)
    mount = BIND.format(source=root, target=root) + f"subprocess.run(['mount', '-o', 'remount,bind,ro', {root!r}], check=True)\n"
    said = in_mounts(pile, f"{mount}made = pile.plan()\nprint(made.items, made.warnings, [kept.why for kept in made.kept])")
    assert said.startswith("[]") and said.count("read-only") == 2 and path.exists()


@ROOT_ONLY
def test_a_root_that_becomes_read_only_after_the_plan(pile: Pile) -> None:
    """Nothing is half gone."""
    path = pile.weights()
    before, root = names(path), str(pile.host.weights_root)
    mount = BIND.format(source=root, target=root) + f"subprocess.run(['mount', '-o', 'remount,bind,ro', {root!r}], check=True)\n"
    said = in_mounts(pile, f"made = pile.plan()\n{mount}print([gone.problem for gone in pile.reclaim(made).items])")
    assert "read-only" in said.lower() and names(path) == before


@ROOT_ONLY
def test_a_disk_that_is_full_to_the_last_byte(pile: Pile) -> None:
    """State and weights on one file system without a free block: the bytes kept for this let the command write its journal, and free the rest."""
    root = str(pile.root)
    script = f"subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=30m', 'none', {root!r}], check=True)\npile = Pile(Path({root!r}))\n"
    script += """
pile.stray(size=20_000_000)
pile.plan()
with contextlib.suppress(OSError), open(pile.root / 'fill', 'wb', buffering=0) as fill:
    while True:
        fill.write(bytes(4096))
environment = {**os.environ, **to_environment(pile.host)}
argv = [sys.executable, '-m', 'modelpivot', 'reclaim', '--agree', 'weights:glm5-gguf', '--json']
print(subprocess.run(argv, env=environment, capture_output=True, text=True).returncode, (pile.host.weights_root / 'glm5-gguf').exists())
"""
    imports = "import contextlib, sys\nfrom modelpivot.settings import to_environment\n"
    assert in_mounts(pile, imports + script).split() == ["0", "False"]


@ROOT_ONLY
def test_a_file_that_nobody_may_remove(pile: Pile) -> None:
    """chattr +i: what can go goes, the rest is named, stays in the trash on record, and goes when it may."""
    path = pile.weights()
    made = pile.plan()
    if run_command(["chattr", "+i", path / "config.json"], timeout_s=10, is_checked=False).returncode:
        pytest.skip("this machine cannot: its file system has no immutable files")
    done = pile.reclaim(made)
    assert "config.json" in problem_of(done, "acme--old") and not path.exists()
    [left] = list(pile.host.weights_root.glob(".reclaim/*/config.json"))
    run_command(["chattr", "-i", left], timeout_s=10)
    assert [item.found.kind for item in pile.plan().items] == ["unfinished"]
    pile.reclaim()
    assert names(pile.host.weights_root) == set()


@ROOT_ONLY
def test_a_user_who_may_not(pile: Pile) -> None:
    """A root that this user may not write to gives nothing; what others hold open is said to be unknown."""
    path = pile.weights()
    pile.plan()
    run_command(["chmod", "-R", "a+rwX", pile.host.state_dir], timeout_s=10)
    for folder in (pile.root, *pile.root.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    # what is imported late lies where nobody may read: all of it is imported by a first plan
    script = "pile.plan(); subprocess.run(['chmod', '-R', 'a+rwX', str(pile.host.state_dir)], check=True)\n"
    script += "os.setgroups([]); os.setgid(65534); os.setuid(65534)\nmade = pile.plan()\n"
    said = in_mounts(pile, f"{script}print(made.items, made.warnings, [kept.why for kept in made.kept])")
    assert said.startswith("[]") and "may not write" in said and "cannot be looked into" in said
    assert path.exists()


def test_a_plan_outlives_its_process(pile: Pile) -> None:
    """A plan that was shown, written and read again is still exactly what goes."""
    path, other = pile.stray("two\nlines"), pile.weights()
    made = ReclaimPlan.model_validate_json(pile.plan().model_dump_json())
    pile.reclaim_all(made)
    assert not path.exists() and not other.exists()
