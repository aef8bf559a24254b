"""`modelpivot patch`: the compatibility rules on a plain directory, and back. The same rules and the same cut in the text as for a release's view."""

import re
from collections.abc import Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from modelpivot.errors import PreconditionError, UsageError
from modelpivot.facts.config_texts import parse_object, read_config_texts, read_small_text
from modelpivot.facts.model_config import parse_model_config
from modelpivot.files import hash_file
from modelpivot.models.event import Tell
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.gpu import Gpu
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.patched import Patching
from modelpivot.models.recipe import EngineChoice, Patch, Recipe, Serve, Source
from modelpivot.models.rule import Rule
from modelpivot.operations.config_file import held, is_patched, patch_files, revert_files
from modelpivot.plans.ground import Ground
from modelpivot.plans.kv import asked_kv
from modelpivot.plans.patching import apply_patches, describe_patched
from modelpivot.plans.rule_table import RULES
from modelpivot.plans.rules import Outcome, apply_rules
from modelpivot.weights.patched import PatchRecord, original_path, read_record

CAPABILITY = re.compile(r"\d{1,2}\.\d")
ANY_RECIPE = Recipe(name="directory", model=Source(repo="any/model"), engine=EngineChoice(name="any"), serve=Serve(served_name="any"))
"""What rules are asked with where there is no recipe: nothing that goes before them."""


class Target(Frozen):
    """What the directory is to be served on."""

    capability: str
    engine_version: str
    rule: str = ""
    """The only rule to look at; empty: all."""


def patch_directory(directory: Path, target: Target, *, is_dry_run: bool = False) -> Patching:
    """The directory with every patch that the rules ask for; `unchanged` when there is none, or all stand already.

    UsageError for a target or a config.json that cannot be understood; PreconditionError for a release's view, which is made by its plan.
    """
    rules, directory = _asked_rules(target), _plain(directory)
    if not (directory / "config.json").exists() and any(directory.glob("*.gguf")):
        return Patching(
            directory=directory, outcome="unchanged", warnings=["GGUF files hold their own settings: there is no config.json to patch"]
        )
    with held(directory):
        texts, warnings = read_config_texts(directory)
        config = _summary(texts)
        outcome = apply_rules(rules, _ground(config, target))
        changed = apply_patches(texts, outcome.recipe.patches)
        if not is_dry_run:
            patch_files(directory, changed, outcome.recipe.patches)
    return Patching(
        directory=directory,
        outcome="unchanged" if not changed else "would_patch" if is_dry_run else "patched",
        files=describe_patched(texts, changed, outcome.recipe.patches),
        rules=outcome.applied,
        settings=config.kv_settings,
        warnings=[*warnings, *outcome.warnings, *_say_rest(outcome, target, config)],
    )


def revert_directory(directory: Path, *, is_dry_run: bool = False) -> Patching:
    """The directory as it was before it was patched, to the byte; `unchanged` when nothing of it is patched."""
    directory = _plain(directory)
    with held(directory):
        record = read_record(directory) or PatchRecord()
        patched = [path for path in record.after if is_patched(directory, path, record)]
        now = {path: read_small_text(directory, path) for path in patched}
        then = {path: read_small_text(original_path(directory, ""), path) for path in patched}
        if not is_dry_run:
            revert_files(directory)
    outcome = "unchanged" if not patched else "would_revert" if is_dry_run else "reverted"
    return Patching.model_validate({"directory": directory, "outcome": outcome, "files": describe_patched(now, then, [])})


def patch_again(directory: Path, tell: Tell) -> None:
    """After a download: what was patched here and is now as it was fetched gets its patches again. One that no longer fits is told and left."""
    record = read_record(directory)
    if record is None:
        return
    with held(directory):
        for path in record.after:
            if (directory / path).is_file() and hash_file(directory / path) != record.after[path]:
                _patch_one(directory, path, record.patches, tell)


def _patch_one(directory: Path, path: str, patches: Sequence[Patch], tell: Tell) -> None:
    try:
        changed = apply_patches({path: read_small_text(directory, path)}, [patch for patch in patches if patch.file == path])
    except PreconditionError as error:
        tell("warning", f"the patch that stood here before the download no longer fits: {error.message}")
        return
    if changed:
        patch_files(directory, changed, patches)
        tell("log", f"{path}: patched again, the download had put it back")


def _plain(directory: Path) -> Path:
    if not directory.is_dir():
        raise UsageError(f"{directory}: expected a model's directory, found {'a file' if directory.exists() else 'nothing'}")
    directory = directory.resolve()
    if directory.name == "view" and (directory.parent / "release.json").exists():
        raise PreconditionError(f"{directory}: the view of a release is frozen", hint="state the patch in its recipe and plan again")
    return directory


def _asked_rules(target: Target) -> list[Rule]:
    if not CAPABILITY.fullmatch(target.capability):
        raise UsageError(f"--compute-capability: expected major.minor such as 12.0, found {target.capability!r}")
    try:
        Version(target.engine_version)
    except InvalidVersion:
        raise UsageError(f"--engine-version: expected a version such as 0.15.0, found {target.engine_version!r}") from None
    rules = [rule for rule in RULES if target.rule in ("", rule.id)]
    if not rules:
        raise UsageError(f"--rule: expected one of {', '.join(rule.id for rule in RULES)}, found {target.rule!r}")
    return rules


def _summary(texts: dict[str, str]) -> ModelConfig:
    config, aside = (parse_object(name, texts.get(name, "null")) for name in ("config.json", "hf_quant_config.json"))
    assert not isinstance(config, Unread)
    return parse_model_config(config, None if isinstance(aside, Unread) else aside)


def _ground(config: ModelConfig, target: Target) -> Ground:
    unread = Unread(unread="no GPU was asked")
    gpu = Gpu(
        index=0, uuid="", name="", total_bytes=unread, used_bytes=unread, compute_capability=target.capability, driver=unread, mig=unread
    )
    bits = {"fp8": 8, "nvfp4": 4}.get(asked_kv(config, []))
    return Ground(ANY_RECIPE, config, [gpu], [], target.engine_version, bits)


def _say_rest(outcome: Outcome, target: Target, config: ModelConfig) -> list[str]:
    """What a rule asks for that no file of the directory can hold, what speaks against serving it at all, and a named rule that does not hold."""
    serve = outcome.recipe.serve
    flags = [f"serve it with --{name} {value}" for name, value in serve.args.items()] + [
        f"{name}={value}" for name, value in serve.env.items()
    ]
    blocks = [f"rule {rule.id}: expected {text}" for rule, text in outcome.blocks]
    if target.rule and not outcome.applied:
        asked = asked_kv(config, []) or "nothing"
        on = f"compute capability {target.capability}, engine {target.engine_version}, attention {config.kind}, KV cache asked for: {asked}"
        return [f"rule {target.rule} does not hold here ({on})"]
    return [*flags, *blocks]
