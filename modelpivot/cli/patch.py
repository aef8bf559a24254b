"""patch: the compatibility rules on a plain directory, and back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console

if TYPE_CHECKING:
    from modelpivot.models.patched import Patching

DONE = {
    "patched": "patched; modelpivot patch {0} --revert puts it back",
    "reverted": "put back",
    "would_patch": "would be patched",
    "would_revert": "would be put back",
}


def patch(
    directory: Path,
    capability: Annotated[str, typer.Option("--compute-capability", help="Of the GPUs that will serve it, such as 12.0.")] = "",
    engine_version: Annotated[str, typer.Option(help="Of the vLLM that will serve it, such as 0.15.0.")] = "",
    rule: Annotated[str, typer.Option(help="Look at this rule only.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change.")] = False,
    revert: Annotated[bool, typer.Option("--revert", help="Put every patched file back, to the byte.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change what a rule asks for in the config files of a model's directory; everything else of them stays, byte for byte."""
    from modelpivot.errors import UsageError
    from modelpivot.stages.patch import Target, patch_directory, revert_directory

    if revert:
        done = revert_directory(directory, is_dry_run=dry_run)
    elif not capability or not engine_version:
        raise UsageError("patch: expected --compute-capability and --engine-version, or --revert", hint="modelpivot facts shows both")
    else:
        target = Target(capability=capability, engine_version=engine_version, rule=rule)
        done = patch_directory(directory, target, is_dry_run=dry_run)
    answer(done) if as_json else _show(done)


def _show(done: "Patching") -> None:
    from modelpivot.cli.patched_view import show_patched

    out = console()
    for warning in done.warnings:
        out.print(f"! {warning}", style="yellow")
    for applied in done.rules:
        if applied.did:
            out.print(f"{applied.id}: {applied.why}", style="dim")
    if done.outcome == "unchanged":
        for setting in done.settings:
            out.print(f"{setting} stays: no rule that holds here asks for its change", style="dim")
    show_patched(out, done.files)
    out.print(f"{done.directory}: {DONE.get(done.outcome, 'nothing to do').format(done.directory)}")
