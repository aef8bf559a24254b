"""The candidate release: its command line, its environment, and an id that follows what is served and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.plans.clients import client_changes, flags_of
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.release import candidate_release, flags, model_file
from modelpivot.recipes import read_recipe
from tests.plans.samples import COMMIT, CPU, CUDA, HOST, brief_facts, manifest, resolution, stated_recipe

KIMI = stated_recipe()


def release(recipe: Recipe = KIMI, **changes: Any) -> Release:
    """A candidate; keyword arguments replace host, engine, manifest or resolution."""
    given = {"host": HOST, "engine": CUDA, "manifest": manifest(), "resolution": resolution(), **changes}
    return candidate_release(recipe, **given)


def changed(**changes: Any) -> Recipe:
    """The recipe with other values."""
    return Recipe.model_validate(KIMI.model_dump() | changes)


def with_serve(**changes: Any) -> Recipe:
    """The recipe served otherwise."""
    return changed(serve=KIMI.serve.model_dump() | changes)


def test_the_command_line_is_whole_and_in_the_recipes_order() -> None:
    """Interpreter, entry, view, name, address, then the recipe's flags as they stand there."""
    argv = release().start.argv
    view = str(release().view_dir)
    assert argv[:3] == ["/pool/environments/vllm-0.26.0-0123456789/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    assert argv[3:11] == ["--model", view, "--served-model-name", "kimi-k2.5", "--host", "127.0.0.1", "--port", "8000"]
    assert argv[11:16] == ["--tensor-parallel-size", "8", "--trust-remote-code", "--gpu-memory-utilization", "0.9"]
    assert [flag for flag in argv if flag.startswith("--")][4:] == [f"--{name}" for name in KIMI.serve.args]


@pytest.mark.parametrize(
    ("version", "words"),
    [("0.17.1", []), ("0.18.0", ["--late", "1"]), ("0.33.0rc1.dev5+gab12", ["--late", "1"]), ("main", ["--late", "1"])],
)
def test_words_that_only_newer_versions_know(version: str, words: list[str]) -> None:
    """They stand between entry and view where the version has them, so that the recipe's own come last and win."""
    engine = CUDA.model_copy(update={"serve_since": {"0.18": ["--late", "1"]}})
    argv = release(engine=engine, resolution=resolution().model_copy(update={"engine_version": version})).start.argv
    assert argv[3 : argv.index("--model")] == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, ["--x"]),
        (False, []),
        (None, []),
        (0, ["--x", "0"]),
        (0.9, ["--x", "0.9"]),
        ("", ["--x", ""]),
        ('{"a": 1}', ["--x", '{"a": 1}']),
        (["a", "b c"], ["--x", "a", "b c"]),
    ],
)
def test_a_flag_as_words(value: Any, words: list[str]) -> None:
    """True is the bare flag; false and null leave it out; zero and the empty text are values."""
    assert flags({"x": value}) == words


def test_the_environment_keeps_kernels_apart_and_needs_no_network() -> None:
    """Caches below the release, offline, GPUs counted by bus, the engine's variables, and the recipe's last word."""
    one = release(with_serve(env={"NCCL_PROTO": "LL", "VLLM_NO_USAGE_STATS": "0"}))
    environment, caches = one.start.environment, HOST.state_dir / "releases" / one.id / "caches"
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert (environment["NCCL_PROTO"], environment["VLLM_NO_USAGE_STATS"]) == ("LL", "0")
    for name in ("VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HF_HOME"):
        assert Path(environment[name]).is_relative_to(caches)


def test_the_engines_own_tools_come_first() -> None:
    """Kernels are built with the environment's ninja; a shell's PATH of the moment is in no release."""
    one = release()
    assert one.start.environment["PATH"].split(":")[0] == str(one.environment_dir / "bin")
    assert "/usr/bin" in one.start.environment["PATH"].split(":")


def test_a_cpu_release_has_no_word_of_gpus() -> None:
    """Nothing that starts with CUDA stands in its environment."""
    environment = release(read_recipe("demo"), engine=CPU, resolution=resolution(CPU)).start.environment
    assert [name for name in environment if name.startswith("CUDA")] == []


def test_planning_the_same_again_gives_the_same_release() -> None:
    """Equal in everything, the time included: it is stamped when the release is frozen."""
    assert release() == release()
    assert release().created_at == 0


SAME = {
    "description": changed(description="else"),
    "floors": changed(floors=[]),
    "workloads": changed(workloads=[{"name": "single"}, {"name": "sixteen"}]),
    "deadlines": changed(deadlines={"stop_s": 1}),
    "probes": changed(probes=[]),
    "hooks": changed(hooks={"drain": ["true"]}),
    "consents": changed(consents=["remote-code"]),
    "unconfirmed": changed(unconfirmed="keep"),
    "why": changed(patches=[patch.model_dump() | {"why": "else"} for patch in KIMI.patches]),
    "revision": changed(model={"repo": KIMI.model.repo, "revision": COMMIT}),
}


@pytest.mark.parametrize("field", SAME)
def test_what_is_not_served_makes_no_other_release(field: str) -> None:
    """Thresholds, workloads, deadlines, questions and reasons may change; a branch and the commit it names are one."""
    assert release(SAME[field]).id == release().id


OTHER: dict[str, Release] = {
    "commit": release(manifest=manifest(commit="5e" * 20)),
    "repo": release(manifest=manifest(repo="org/other")),
    "a file": release(manifest=manifest(shards=118)),
    "engine lock": release(resolution=resolution().model_copy(update={"digest": "9876543210"})),
    "engine version": release(resolution=resolution(version="0.25.0")),
    "a flag": release(with_serve(args={**KIMI.serve.args, "max-model-len": 4096})),
    "order of flags": release(with_serve(args=dict(reversed(KIMI.serve.args.items())))),
    "a variable": release(with_serve(env={"NCCL_PROTO": "Simple"})),
    "served name": release(with_serve(served_name="else")),
    "port": release(with_serve(port=8001)),
    "the host's port": release(host=HOST.model_copy(update={"port": 9000})),
    "bind": release(with_serve(bind="0.0.0.0")),
    "key": release(with_serve(api_key=True)),
    "patches": release(changed(patches=[])),
    "name": release(changed(name="else")),
}


def test_every_other_thing_that_is_served_is_another_release() -> None:
    """No two of them share an id, nor one with the unchanged release."""
    ids = [release().id, *(other.id for other in OTHER.values())]
    assert len(set(ids)) == len(ids)


def test_the_id_is_the_name_and_ten_digits() -> None:
    """A person reads what it is; a path can hold it."""
    one = release()
    assert one.id == f"kimi-k2.5-nvfp4-{one.serving_digest[:10]}"
    assert len(one.serving_digest) == 64


def test_where_things_lie_does_not_change_what_is_served() -> None:
    """Another state folder, another pool: the same release, in other places."""
    other = release(host=HOST.model_copy(update={"state_dir": Path("/srv/state"), "weights_root": Path("/srv/weights")}))
    assert other.id == release().id
    assert other.view_dir == Path("/srv/state/releases") / other.id / "view"
    assert other.weights_dir == Path("/srv/weights/nvidia--Kimi-K2.5-NVFP4") / COMMIT


def test_hooks_of_host_and_recipe_are_frozen_together() -> None:
    """Going back needs neither of them: the host's come first."""
    host = HOST.model_copy(update={"hooks": KIMI.hooks.model_copy(update={"drain": ["lb out"]})})
    assert release(changed(hooks={"drain": ["app out"], "undrain": ["app in"]}), host=host).hooks.drain == ["lb out", "app out"]


@pytest.mark.parametrize(
    ("names", "file"),
    [
        (["model.safetensors", "config.json"], ""),
        (["GLM-5-UD-Q4_K_XL.gguf"], "GLM-5-UD-Q4_K_XL.gguf"),
        (["q/x-00002-of-00002.gguf", "q/x-00001-of-00002.gguf", "config.json"], "q/x-00001-of-00002.gguf"),
        (["model.safetensors", "mmproj.gguf"], ""),
    ],
)
def test_a_gguf_is_named_by_its_first_file(names: list[str], file: str) -> None:
    """Safetensors are a folder to the engine, GGUF a file."""
    files = [ManifestFile(path=name, size=1, sha256="a" * 64) for name in names]
    assert model_file(Manifest(repo="org/x", commit=COMMIT, files=files)) == file


def test_flags_are_read_back_from_a_command_line() -> None:
    """Values with blanks, several words, equals signs and bare flags, of a command line that somebody else wrote."""
    found = flags_of(["python", "-m", "vllm", "--a", "1", "2", "--b", "--c=x=y", "--d", "-1"])
    assert found == {"a": "1 2", "b": "", "c": "x=y", "d": "-1"}


def test_clients_of_the_same_release_notice_nothing() -> None:
    """No sentence where nothing changes; on the first release, where it answers."""
    assert client_changes(release(), release()) == []
    assert "for the first time" in client_changes(None, release())[0]


def test_engines_run_as_the_user_that_the_host_names() -> None:
    """Frozen into the release where systemd starts it; the process supervisor cannot, and that blocks before anything is touched."""
    host = HOST.model_copy(update={"engine_user": "vllm"})
    recipe = read_recipe("kimi-k2.5-nvfp4")
    under_systemd = plan_pivot(recipe, host, brief_facts(supervisor="systemd"), CUDA)
    assert under_systemd.candidate and under_systemd.candidate.start.user == "vllm"
    assert "ENGINE_USER" not in [blocker.code for blocker in under_systemd.blockers]
    assert "ENGINE_USER" in [blocker.code for blocker in plan_pivot(recipe, host, brief_facts(supervisor="process"), CUDA).blockers]
