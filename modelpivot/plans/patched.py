"""Patches in a plan: what each would change, line by line, and those that find something else than they expect. Pure."""

from collections.abc import Sequence

from pydantic import JsonValue

from modelpivot.errors import PreconditionError
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.patched import PatchedFile
from modelpivot.models.plan import Blocker
from modelpivot.models.pointer import NOWHERE, is_same, say_json, value_at
from modelpivot.models.recipe import Patch, Recipe
from modelpivot.plans.patching import apply_patch, apply_patches, describe_patched, parse

REMEDY = "mend the patch in the recipe, or take it out if the model no longer needs it"


def patch_blockers(recipe: Recipe, facts: Facts) -> list[Blocker]:
    """Patches whose expected value does not stand where they look, and patches of a file that the repository does not have.

    config.json and hf_quant_config.json are looked into before anything is fetched, each patch on what those before it leave.
    """
    manifest = facts.model.manifest
    if isinstance(manifest, Unread) or not recipe.patches:
        return []
    names = {file.path for file in manifest.files}
    blockers = [
        _blocker(patch, say_json(patch.expected), "no such file") for patch in recipe.patches if patch.file not in names | _may_miss(patch)
    ]
    for file in dict.fromkeys(patch.file for patch in recipe.patches if patch.file in names):
        blockers += _file_blockers([patch for patch in recipe.patches if patch.file == file], facts)
    return blockers


def plan_patched(recipe: Recipe, facts: Facts) -> list[PatchedFile]:
    """What the patches make of the files whose text is known; nothing where one of them does not fit."""
    manifest = facts.model.manifest
    names = set() if isinstance(manifest, Unread) else {file.path for file in manifest.files}
    texts = {file: text for file, text in facts.model.texts.items() if file in names}
    try:
        return describe_patched(texts, apply_patches(texts, recipe.patches), recipe.patches)
    except PreconditionError:
        return []


def _may_miss(patch: Patch) -> set[str]:
    return {patch.file} if patch.if_present else set()


def _file_blockers(patches: Sequence[Patch], facts: Facts) -> list[Blocker]:
    file, config = patches[0].file, facts.model.config
    if file in facts.model.texts:
        return _text_blockers(patches, facts.model.texts[file])
    if file != "config.json":
        return []
    if isinstance(config, Unread):
        return [_blocker(patch, say_json(patch.expected), str(config)) for patch in patches]
    return [blocker for patch in patches for blocker in _value_blockers(patch, config)]


def _text_blockers(patches: Sequence[Patch], text: str) -> list[Blocker]:
    for patch in patches:
        if blockers := _value_blockers(patch, parse(text, patch.file)):
            return blockers
        try:
            text = apply_patch(text, patch)
        except PreconditionError as error:
            return [_blocker(patch, "one place for it", error.message)]
    return []


def _value_blockers(patch: Patch, document: JsonValue) -> list[Blocker]:
    found = value_at(document, patch.pointer)
    is_there = found is not NOWHERE and is_same(found, patch.expected)
    return [] if is_there else [_blocker(patch, say_json(patch.expected), say_json(found))]


def _blocker(patch: Patch, expected: str, found: str) -> Blocker:
    what = f"patch of {patch.file} at {patch.pointer}"
    return Blocker(code="PATCH_EXPECTS_OTHER", what=what, expected=expected, found=found, remedy=REMEDY)
