"""The steps still missing. Pure: facts alone say what is there; no journal and no earlier result is believed."""

from modelpivot.models.counted import counted
from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Step
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes
from modelpivot.plans.blockers import resumes
from modelpivot.plans.space import space_needs


def missing_steps(recipe: Recipe, facts: Facts, engine: Engine, candidate: Release) -> list[Step]:
    """In the order in which they are done (install and fetch side by side); none when the candidate is current and answers."""
    if is_serving(facts, candidate):
        return []
    last = [*_benchmark(recipe), Step(name="promote", what=f"make {candidate.id} the current release")]
    if resumes(facts, candidate):
        return last
    return [*_install(facts, engine), *_fetch(facts), *_view(facts, candidate), _check(facts), _switch(facts, candidate), *last]


def is_serving(facts: Facts, candidate: Release) -> bool:
    """The candidate is current, answers, could be started again, and no switch is open."""
    current = facts.host.current
    is_whole = facts.host.current_answers is True and not facts.host.current_lacks
    return current is not None and current.id == candidate.id and is_whole and facts.host.cutover is None


def is_frozen(facts: Facts, candidate: Release) -> bool:
    """It stands on disk alike, its view with it; only the time of freezing may differ."""
    return any(release.model_copy(update={"created_at": candidate.created_at}) == candidate for release in facts.host.frozen)


def _install(facts: Facts, engine: Engine) -> list[Step]:
    resolution = facts.engine.resolution
    if facts.engine.environment_proved or isinstance(resolution, Unread):
        return []
    size = say_bytes(space_needs(facts, engine)[1].size_bytes)
    what = f"{engine.distribution} {resolution.engine_version} with {counted(len(resolution.pins), 'package')}, about {size}, beside what is installed"
    return [Step(name="install", what=what)]


def _fetch(facts: Facts) -> list[Step]:
    on_disk = facts.model.on_disk
    if isinstance(on_disk, Unread) or on_disk.missing_files == 0:
        return []
    there = f"; {counted(on_disk.present_files, 'is there', 'are there')}" if on_disk.present_files else ""
    coming = counted(on_disk.missing_files, "file")
    return [Step(name="fetch", what=f"{coming}, {say_bytes(on_disk.missing_bytes)}, into {on_disk.directory}{there}")]


def _view(facts: Facts, candidate: Release) -> list[Step]:
    if is_frozen(facts, candidate):
        return []
    patched = f" with {counted(len(candidate.patches), 'patch', 'patches')}" if candidate.patches else ""
    return [Step(name="view", what=f"{candidate.view_dir}{patched}")]


def _check(facts: Facts) -> Step:
    manifest = facts.model.manifest
    if isinstance(manifest, Unread):
        return Step(name="check", what="all files against their digests, headers and index")
    files = counted(len(manifest.files), "file against its digest", "files against their digests")
    return Step(name="check", what=f"{files}, headers and index")


def _switch(facts: Facts, candidate: Release) -> Step:
    current = facts.host.current
    old = f"stop {current.id}, prove it gone, " if current and current.id != candidate.id else ""
    return Step(name="switch", what=f"{old}start {candidate.id}, until it generates and passes {counted(len(candidate.probes), 'probe')}")


def _benchmark(recipe: Recipe) -> list[Step]:
    names = ", ".join(workload.name for workload in recipe.workloads)
    return [Step(name="benchmark", what=f"workloads {names} against {counted(len(recipe.floors), 'floor')}")] if names else []
