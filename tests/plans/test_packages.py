"""What an engine change would change: classes, policy, and the brief's own upgrade as it was recorded."""

from pathlib import Path

import pytest

from modelpivot.facts.lock import parse_pins
from modelpivot.models.engine import Engine, Resolution
from modelpivot.models.locked import resolved_packages
from modelpivot.models.packages import LiveEnvironment, Package, PackageChange, PackagePolicy
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import EngineChoice
from modelpivot.plans.packages import find_changes
from modelpivot.plans.pivot import plan_pivot
from modelpivot.recipes import read_recipe
from tests.plans.samples import CUDA, HOST, brief_facts, resolution

CAPTURES = Path(__file__).parents[1] / "captures"
LOCK = (CAPTURES / "upgrade-vllm-0.15.1.lock").read_text()
SNAPSHOT = "git 1f0cf8f0a1"


def package(name: str, version: str, **fields: object) -> Package:
    """A package, from an index unless said otherwise."""
    return Package.model_validate({"name": name, "version": version, **fields})


def change(
    before: str | None, after: str | None, *, name: str = "some", choice: EngineChoice | None = None, **fields: object
) -> PackageChange:
    """The one change between two versions."""
    old = [package(name, before)] if before else []
    new = [package(name, after, **fields)] if after else []
    (found,) = find_changes(old, new, CUDA, choice or EngineChoice(name="vllm"))
    return found


def upgrade_plan(*, consents: list[str] | None = None, policy: PackagePolicy | None = None, altered: list[str] | None = None) -> Plan:
    """The brief's pivot with the brief's upgrade in it."""
    live = LiveEnvironment(
        path=Path("/opt/vllm"),
        packages=resolved_packages(parse_pins((CAPTURES / "upgrade-before.freeze").read_text())),
        altered=altered or [],
    )
    coming = resolution().model_copy(update={"engine_version": "0.15.1", "pins": parse_pins(LOCK), "lock_text": LOCK})
    recipe = read_recipe("kimi-k2.5-nvfp4").model_copy(update={"consents": consents or []})
    engine = recipe.engine.model_copy(update={"policy": policy or PackagePolicy()})
    facts = brief_facts(engine={"resolution": coming, "live": live, "environment_dir": HOST.environments_root / coming.environment_name})
    return plan_pivot(recipe.model_copy(update={"engine": engine}), HOST, facts, CUDA)


def test_the_real_upgrade_comes_out_as_it_was() -> None:
    """Every package that moved, and no other: down, up, from git, gone; what nobody asked about is not passed."""
    found = {change.name: change for change in upgrade_plan().packages}
    said = {name: (one.before, one.after, one.answer) for name, one in found.items()}
    assert said == {
        "numpy": ("2.4.2", "2.2.6", "consent"),
        "huggingface-hub": ("1.4.1", "0.36.2", "consent"),
        "transformers": ("5.1.0", SNAPSHOT, "block"),
        "nvidia-cutlass-dsl": ("4.3.5", "4.4.0", "pass"),
        "nvidia-cutlass-dsl-libs-base": (None, "4.4.0", "pass"),
        "flashinfer-python": ("0.5.3", "0.6.1", "pass"),
        "flash-attn": ("2.8.3", None, "pass"),
        "vllm": ("0.14.1", "0.15.1", "pass"),
    }
    assert found["huggingface-hub"].classes == ["downgrade", "major"]
    assert found["transformers"].classes == ["snapshot", "unhashed"]
    assert found["nvidia-cutlass-dsl"].classes == ["abi_partner"]


def test_the_real_upgrade_is_gated() -> None:
    """The snapshot blocks, the downgrades are asked about, and both are named with what they were and would be."""
    plan = upgrade_plan()
    (blocker,) = [one for one in plan.blockers if one.code == "PACKAGES_BLOCKED"]
    assert f"transformers 5.1.0 -> {SNAPSHOT}" in blocker.found
    (question,) = [one for one in plan.questions if one.id == "packages-downgrade"]
    assert "numpy 2.4.2 -> 2.2.6" in question.text
    assert "huggingface-hub 1.4.1 -> 0.36.2" in question.text
    assert ("packages", "8 change (5 pass, 2 ask, 1 block)") in [(choice.name, choice.value) for choice in plan.choices]


def test_consent_of_the_recipe_opens_what_is_blocked_and_asked() -> None:
    """By class, or by package."""
    for consents in (["packages-snapshot", "packages-downgrade"], ["package-transformers", "package-numpy", "package-huggingface-hub"]):
        plan = upgrade_plan(consents=consents)
        assert [one.code for one in plan.blockers if one.code == "PACKAGES_BLOCKED"] == []
        assert [one.id for one in plan.questions if one.id.startswith("packages-")] == []


def test_consent_to_one_package_leaves_the_others_asked() -> None:
    """numpy is agreed on, huggingface-hub is not."""
    (question,) = [one for one in upgrade_plan(consents=["package-numpy"]).questions if one.id == "packages-downgrade"]
    assert "numpy" not in question.text and "huggingface-hub" in question.text


def test_the_policy_is_the_recipes() -> None:
    """Downgrades blocked, one package let through by name, snapshots only asked about."""
    plan = upgrade_plan(policy=PackagePolicy(downgrade="block", snapshot="consent", packages={"numpy": "pass"}))
    answers = {change.name: change.answer for change in plan.packages}
    assert (answers["numpy"], answers["huggingface-hub"], answers["transformers"]) == ("pass", "block", "consent")


def test_files_changed_in_place_are_asked_about_by_name() -> None:
    """The old engine was patched where it lay; the candidate will not have that."""
    (question,) = [
        one for one in upgrade_plan(altered=["vllm/config.py", "vllm/new.py (added)"]).questions if one.id == "patched-environment"
    ]
    assert "/opt/vllm: vllm/config.py, vllm/new.py (added)" in question.text
    plan = upgrade_plan(altered=["vllm/config.py"], policy=PackagePolicy(patched="block"))
    assert "ENVIRONMENT_PATCHED" in [one.code for one in plan.blockers]
    assert "patched-environment" not in [
        one.id for one in upgrade_plan(altered=["vllm/config.py"], consents=["patched-environment"]).questions
    ]


@pytest.mark.parametrize(
    ("before", "after", "classes"),
    [
        ("1.2.0", "1.2.1", ["other"]),
        ("1.2.0", "1.1.9", ["downgrade"]),
        ("1.2.0", "2.0.0", ["major"]),
        ("2.0.0", "1.9", ["downgrade", "major"]),
        ("1.0", "1.0+cu129", ["build"]),
        ("1.0+cu128", "1.1+cu130", ["build"]),
        ("1.1+cpu", "1.0+cpu", ["downgrade"]),
        ("1.0", "1.0.0", ["other"]),
        ("1.0", "1.1.dev3", ["snapshot"]),
        ("1.0", "1.1.dev3+g1f0cf8f0a", ["snapshot"]),
        ("1.1.dev1+g0a0a0a0a", "1.1.dev2+gb0b0b0b0", ["snapshot"]),
        ("1.0rc1", "1.0", ["other"]),
        ("2026.1.1", "2027.2.3", ["other"]),
        ("1!1.0", "2.0", ["downgrade", "major"]),
        ("not-a-version", "1.0", ["other"]),
        (None, "1.0", ["added"]),
        ("1.0", None, ["removed"]),
    ],
)
def test_classes_follow_the_versions(before: str | None, after: str | None, classes: list[str]) -> None:
    """Down, major, other build, snapshot; years are no major versions, a commit in the local part is no build."""
    assert change(before, after).classes == classes


@pytest.mark.parametrize(
    "name",
    ["torch", "triton", "flash-attn", "flashinfer-python", "flashinfer-cubin", "nvidia-nccl-cu12", "nvidia-cutlass-dsl", "torchvision"],
)
def test_partners_of_the_binary_interface_do_not_go_down_in_silence(name: str) -> None:
    """Up they pass, down they block; numpy down is asked about."""
    assert change("2.0", "2.1", name=name).answer == "pass"
    down = change("2.1", "2.0", name=name)
    assert (down.classes, down.answer) == (["abi_partner", "downgrade"], "block")
    assert change("2.1", "2.0", name="numpy").answer == "consent"


def test_what_only_sounds_like_a_partner_is_none() -> None:
    """NVML's Python binding is no compiled partner; torchao's name is not torch's."""
    assert change("13.2", "13.1", name="nvidia-ml-py").classes == ["downgrade"]
    assert change("2.0", "2.1", name="torch-like").classes == ["other"]


def test_what_is_asked_for_by_version_is_not_silent() -> None:
    """The recipe names the older torch and the snapshot by commit: both pass. A range is no such word."""
    pinned = EngineChoice(name="vllm", extra_requirements=["torch==2.9.0", "transformers @ git+https://x/t@" + "a" * 40])
    assert change("2.9.1", "2.9.0", name="torch", choice=pinned).answer == "pass"
    git = {"origin": "git", "commit": "a" * 40, "is_hashed": False}
    assert change("5.1.0", "git+https://x", name="transformers", choice=pinned, **git).answer == "pass"
    ranged = EngineChoice(name="vllm", overrides=["torch<2.9.1"])
    assert change("2.9.1", "2.9.0", name="torch", choice=ranged).answer == "block"


def test_what_was_taken_back_is_asked_about_even_if_it_was_asked_for() -> None:
    """Yanked versions have their reason."""
    pinned = EngineChoice(name="vllm", extra_requirements=["some==1.1"])
    assert change("1.0", "1.1", choice=pinned, is_yanked=True).answer == "consent"


def test_the_same_commit_is_no_change_and_another_is_one() -> None:
    """Checkouts are compared by commit, whatever their version says."""
    here = package("t", "5.0.dev0", origin="git", commit="a" * 40)
    same, other = (package("t", "git+https://x", origin="git", commit=letter * 40, is_hashed=False) for letter in "ab")
    assert find_changes([here], [same], CUDA, EngineChoice(name="vllm")) == []
    (found,) = find_changes([here], [other], CUDA, EngineChoice(name="vllm"))
    assert "snapshot" in found.classes


def test_alike_environments_have_no_changes() -> None:
    """Names are compared as indexes compare them, on both sides."""
    pins = parse_pins(LOCK)
    assert find_changes(resolved_packages(pins), resolved_packages(pins), CUDA, EngineChoice(name="vllm")) == []


def test_a_live_environment_that_cannot_be_read_is_said() -> None:
    """No list of changes, and a warning that there is none; without a release there is nothing to say."""
    unread = plan_pivot(
        read_recipe("kimi-k2.5-nvfp4"), HOST, brief_facts(engine={"live": {"unread": "/usr: no lib/python3*/site-packages in it"}}), CUDA
    )
    assert unread.packages == []
    assert any("cannot be said" in warning for warning in unread.warnings)
    plain = plan_pivot(read_recipe("kimi-k2.5-nvfp4"), HOST, brief_facts(), CUDA)
    assert not any("cannot be said" in warning for warning in plain.warnings)


def wheels(*pins: str, **changes: object) -> Plan:
    """The brief's pivot with these packages, and facts of the engine changed."""
    made: Resolution = resolution().model_copy(update={"pins": parse_pins("\n".join(["vllm==0.26.0", *pins]))})
    return plan_pivot(read_recipe("kimi-k2.5-nvfp4"), HOST, brief_facts(engine={"resolution": made, **changes}), CUDA)


@pytest.mark.parametrize(
    ("pin", "said"),
    [
        ("torch==2.9.1+cu140", ["CUDA_VARIANT"]),
        ("nvidia-cuda-runtime==14.0.1", ["CUDA_VARIANT"]),
        ("torch==2.9.1+cpu", ["CUDA_VARIANT"]),
        ("torch==2.9.1+cu130", []),
        ("torch==2.9.1+cu128", []),
        ("nvidia-cuda-runtime-cu12==12.8.90", []),
        ("torch==2.9.1", []),
    ],
)
def test_wheels_for_another_cuda_than_the_driver_offers_block(pin: str, said: list[str]) -> None:
    """E4, before the switch: driver 590.48 offers CUDA 13.1; a newer major or no CUDA at all cannot run, an older one does."""
    assert [one.code for one in wheels(pin).blockers if one.code == "CUDA_VARIANT"] == said


def test_a_newer_minor_than_the_drivers_is_a_warning() -> None:
    """It runs; what is compiled at run time may not."""
    assert any("CUDA 13.4" in warning for warning in wheels("nvidia-cuda-runtime==13.4.1").warnings)


def test_engines_for_the_cpu_do_not_ask_the_driver() -> None:
    """The CPU build of torch is right there."""
    cpu = Engine.model_validate({**CUDA.model_dump(), "device": "cpu"})
    made = resolution().model_copy(update={"pins": parse_pins("torch==2.9.1+cpu")})
    plan = plan_pivot(read_recipe("kimi-k2.5-nvfp4"), HOST, brief_facts(engine={"resolution": made}), cpu)
    assert "CUDA_VARIANT" not in [one.code for one in plan.blockers]


@pytest.mark.parametrize(
    ("problem", "code"), [("no_wheel", "NO_WHEEL"), ("unreachable", "INDEX_UNREACHABLE"), ("conflict", "ENGINE_UNRESOLVED")]
)
def test_no_resolution_blocks_by_its_kind(problem: str, code: str) -> None:
    """E3: nothing for this machine is another blocker than no network."""
    unread = {"resolution": {"unread": "uv's words"}, "problem": problem}
    plan = plan_pivot(read_recipe("kimi-k2.5-nvfp4"), HOST, brief_facts(engine=unread), CUDA)
    assert code in [one.code for one in plan.blockers]
