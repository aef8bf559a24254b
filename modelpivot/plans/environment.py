"""The engine change in a plan: its blockers, questions, warnings and choices. Pure; with nothing that serves there is nothing to change."""

from modelpivot.models.engine import Engine, Resolution, Unresolved
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.locked import resolved_packages
from modelpivot.models.packages import Answer, LiveEnvironment, PackageChange
from modelpivot.models.plan import Blocker, Choice, Question
from modelpivot.models.recipe import EngineChoice, Recipe
from modelpivot.plans.packages import deciding_class, find_changes
from modelpivot.plans.variant import variant_blockers, variant_warnings

SHOWN = 12
WORDS = {
    "abi_downgrade": "go down although the engine's compiled parts are built against them",
    "snapshot": "become development snapshots",
    "downgrade": "go down",
    "major": "change their major version",
    "build": "become builds for something else",
    "unhashed": "come without a digest to check",
    "yanked": "were taken back by their makers",
    "engine": "are the engine itself",
    "abi_partner": "share a binary interface with the engine",
    "added": "come along",
    "removed": "go",
    "other": "change",
}
UNRESOLVED: dict[Unresolved | None, tuple[str, str]] = {
    "no_wheel": ("NO_WHEEL", "name a version that has a wheel for this machine, or wait until the index has one"),
    "unreachable": ("INDEX_UNREACHABLE", "check the network and the package index that uv or pip is set up for, then run it again"),
    "conflict": ("ENGINE_UNRESOLVED", "mend the requirements in the recipe: they exclude each other, or what the index offers"),
    "no_tool": ("ENGINE_UNRESOLVED", "mend what the reason names, then plan again"),
    None: ("ENGINE_UNRESOLVED", "check the package index that uv or pip is set up for, and the version in the recipe"),
}


def package_changes(recipe: Recipe, facts: Facts, engine: Engine) -> list[PackageChange]:
    """Every package that would be another one than in the environment that serves; none where either side is not known."""
    live, resolution = facts.engine.live, facts.engine.resolution
    if not isinstance(live, LiveEnvironment) or isinstance(resolution, Unread) or live.path == facts.engine.environment_dir:
        return []
    return find_changes(live.packages, resolved_packages(resolution.pins, resolution.yanked), engine, recipe.engine)


def environment_blockers(recipe: Recipe, facts: Facts, engine: Engine) -> list[Blocker]:
    """What the policy blocks, a live environment whose patches would be lost where that blocks, and wheels for another CUDA."""
    blocked = package_blockers(package_changes(recipe, facts, engine), recipe.engine, recipe.consents)
    return [*blocked, *patched_blockers(recipe, facts), *variant_blockers(recipe, facts, engine)]


def environment_questions(recipe: Recipe, facts: Facts, engine: Engine) -> list[Question]:
    """What the policy wants a yes for."""
    return [*package_questions(package_changes(recipe, facts, engine), recipe.engine, recipe.consents), *patched_questions(recipe, facts)]


def unresolved_blockers(facts: Facts) -> list[Blocker]:
    """No answer to what would be installed, by its kind."""
    if not isinstance(facts.engine.resolution, Unread):
        return []
    code, remedy = UNRESOLVED[facts.engine.problem]
    found = facts.engine.resolution.unread
    return [Blocker(code=code, what="packages of the engine", expected="exact versions", found=found, remedy=remedy)]


def package_blockers(changes: list[PackageChange], choice: EngineChoice, consents: list[str]) -> list[Blocker]:
    """What the policy blocks and the recipe does not consent to, a blocker for each class."""
    return [
        Blocker(
            code="PACKAGES_BLOCKED",
            what=f"packages that {WORDS[name]}",
            expected="none, or the recipe's consent",
            found=_listed(some),
            remedy=f"name their versions in the recipe (engine.extra_requirements, engine.overrides), or put {consent_id(name)} under consents",
        )
        for name, some in _grouped(changes, choice, consents, "block")
    ]


def package_questions(changes: list[PackageChange], choice: EngineChoice, consents: list[str]) -> list[Question]:
    """What the policy wants a yes for, a question for each class."""
    return [
        Question(id=consent_id(name), text=f"install packages that {WORDS[name]}: {_listed(some)}?")
        for name, some in _grouped(changes, choice, consents, "consent")
    ]


def patched_questions(recipe: Recipe, facts: Facts) -> list[Question]:
    """The live environment was changed in place, and the candidate will be as its packages were published."""
    if not (files := _lost_patches(facts)) or recipe.engine.policy.patched != "consent" or "patched-environment" in recipe.consents:
        return []
    return [Question(id="patched-environment", text=f"leave behind what was changed in place in {_patched(facts, files)}?")]


def patched_blockers(recipe: Recipe, facts: Facts) -> list[Blocker]:
    """The same where the policy blocks it."""
    if not (files := _lost_patches(facts)) or recipe.engine.policy.patched != "block" or "patched-environment" in recipe.consents:
        return []
    remedy = "bring the changes into a package of their own, or put patched-environment under consents"
    what = "environment that serves"
    return [Blocker(code="ENVIRONMENT_PATCHED", what=what, expected="files as published", found=_patched(facts, files), remedy=remedy)]


def _lost_patches(facts: Facts) -> list[str]:
    live = facts.engine.live
    is_other = isinstance(live, LiveEnvironment) and live.path != facts.engine.environment_dir
    return live.altered if isinstance(live, LiveEnvironment) and is_other else []


def _patched(facts: Facts, files: list[str]) -> str:
    live = facts.engine.live
    path = live.path if isinstance(live, LiveEnvironment) else ""
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return f"{path}: {', '.join(files[:SHOWN])}{more}"


def environment_warnings(facts: Facts, engine: Engine) -> list[str]:
    """A live environment that cannot be read or was patched in place and stays in use; wheels for a newer CUDA than the driver's own."""
    return [*_live_warnings(facts), *variant_warnings(facts, engine)]


def _live_warnings(facts: Facts) -> list[str]:
    live = facts.engine.live
    if isinstance(live, Unread):
        return [f"what the engine change would change cannot be said: the environment that serves is {live}"]
    if isinstance(live, LiveEnvironment) and live.altered and live.path == facts.engine.environment_dir:
        return [f"the environment was patched in place: {_patched(facts, live.altered)}"]
    return []


def environment_choices(recipe: Recipe, facts: Facts, engine: Engine) -> list[Choice]:
    """CUDA variant, overrides and the sum of what would change."""
    resolution, choice = facts.engine.resolution, recipe.engine
    if isinstance(resolution, Unread):
        return []
    lines = [Choice(name="override", value=line, reason="the recipe sets it whatever other packages ask for") for line in choice.overrides]
    return [*_backend(choice, engine, resolution), *lines, *_summed(package_changes(recipe, facts, engine))]


def _backend(choice: EngineChoice, engine: Engine, resolution: Resolution) -> list[Choice]:
    if resolution.torch_backend is None:
        return []
    stated = choice.torch_backend or engine.torch_backend
    reason = (
        "the driver offers it"
        if stated == "driver"
        else "the recipe states it"
        if choice.torch_backend
        else "no plain index has that torch"
    )
    return [Choice(name="torch backend", value=resolution.torch_backend, reason=reason)]


def _summed(changes: list[PackageChange]) -> list[Choice]:
    if not changes:
        return []
    counts = {answer: sum(change.answer == answer for change in changes) for answer in ("pass", "consent", "block")}
    said = ", ".join(
        f"{count} {word}" for word, count in (("pass", counts["pass"]), ("ask", counts["consent"]), ("block", counts["block"]))
    )
    return [
        Choice(
            name="packages", value=f"{len(changes)} change ({said})", reason="the recipe's policy says so (modelpivot env plan lists them)"
        )
    ]


def consent_id(name: str) -> str:
    """The id under which a class is consented to."""
    return f"packages-{name.replace('_', '-')}"


def _grouped(
    changes: list[PackageChange], choice: EngineChoice, consents: list[str], answer: Answer
) -> list[tuple[str, list[PackageChange]]]:
    groups: dict[str, list[PackageChange]] = {}
    for change in changes:
        name = deciding_class(change, choice.policy)
        if change.answer == answer and consent_id(name) not in consents and f"package-{change.name}" not in consents:
            groups.setdefault(name, []).append(change)
    return list(groups.items())


def _listed(changes: list[PackageChange]) -> str:
    words = [f"{change.name} {change.before or 'absent'} -> {change.after or 'absent'}" for change in changes]
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")
