"""The view: what a release is started on, laid out and patched, and the release frozen. The fetched directory is never edited."""

import time
from pathlib import Path

from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.files import safe_join
from modelpivot.models.counted import counted
from modelpivot.models.manifest import Manifest
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Patch
from modelpivot.models.release import Release
from modelpivot.plans.patching import apply_patches, describe_patched
from modelpivot.plans.release import changed_settings
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.state.releases import keep_recipe, read_release, write_release
from modelpivot.weights.patched import fetched_file, read_record
from modelpivot.weights.view import is_view_right, make_view


def freeze(context: Context, plan: Plan) -> Release:
    """The candidate with its view on disk; nothing to do when both stand alike. PreconditionError when a patch finds another value than it expects."""
    if plan.candidate is None or plan.manifest is None:
        raise PreconditionError("the plan knows no release to freeze", hint="mend what blocks the plan, then run it again")
    candidate, manifest = plan.candidate, plan.manifest
    with told(context.journal, "patch config", f"view of {candidate.id}") as (tell, ending):
        texts = fetched_texts(candidate, manifest)
        patched = apply_patches(texts, candidate.patches)
        is_there = is_view_right(candidate.view_dir, candidate.weights_dir, manifest, patched)
        make_view(candidate.view_dir, candidate.weights_dir, manifest, patched, candidate.patches)
        for patch in candidate.patches:
            if patch.file in patched:
                tell("log", f"{patch.file}: {patch.pointer} {'removed' if patch.remove else 'set'}: {patch.why}")
        release, is_frozen = _write(context, candidate)
        keep_recipe(context.state, release.id, plan.recipe)
        message = f"{candidate.view_dir}: {counted(len(manifest.files), 'file')}, {len(patched)} patched"
        files: JsonValue = [file.model_dump(mode="json") for file in describe_patched(texts, patched, candidate.patches)]
        (ending.nothing_to_do if is_there and is_frozen else ending.finish)(message, patched=files)
    return release


def refreeze(context: Context, plan: Plan) -> list[str]:
    """The settings of the recipe (probes, deadlines, hooks) in the record of the release that serves it already; which of them differed.

    Its id stays and nothing that serves is touched: they count from its next switch. Nothing to do where none differs.
    """
    if plan.candidate is None:
        return []
    frozen, candidate = read_release(context.state, plan.candidate.id), plan.candidate
    if names := changed_settings(frozen, candidate):
        write_release(context.state, frozen.model_copy(update={name: getattr(candidate, name) for name in names}))
        context.journal.stage("record")("finished", f"{frozen.id}: {', '.join(names)} of the recipe, from its next switch on")
    return names


def fetched_texts(candidate: Release, manifest: Manifest) -> dict[str, str]:
    """Every file that a patch names, as it was fetched. PreconditionError for one that the repository has not, unless it may be missing."""
    names = {file.path for file in manifest.files}
    if absent := [patch.file for patch in candidate.patches if patch.file not in names and not patch.if_present]:
        raise PreconditionError(f"{absent[0]}: no such file in {manifest.repo}", hint="mend the patch in the recipe")
    return {patch.file: _read(candidate.weights_dir, patch) for patch in candidate.patches if patch.file in names}


def _read(weights_dir: Path, patch: Patch) -> str:
    path = safe_join(weights_dir, patch.file)
    try:
        return fetched_file(weights_dir, patch.file, read_record(weights_dir)).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PreconditionError(f"{path}: {error}", hint="fetch the weights again") from error


def _write(context: Context, candidate: Release) -> tuple[Release, bool]:
    """The frozen release, and whether it stood there alike; it keeps the time it was first frozen at."""
    path = context.state.release(candidate.id).release
    before = read_release(context.state, candidate.id) if path.exists() else None
    if before is not None and before.model_copy(update={"created_at": candidate.created_at}) == candidate:
        return before, True
    release = candidate.model_copy(update={"created_at": before.created_at if before else time.time()})
    write_release(context.state, release)
    return release, False
