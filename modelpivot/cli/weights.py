"""fetch, verify, patch: bring weights in, prove them, and change what a rule asks for beside them."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console
from modelpivot.cli.patch import patch
from modelpivot.cli.told import Told
from modelpivot.cli.weights_sources import folder_of, manifest_to_fetch, manifest_to_verify, require_readable
from modelpivot.models.exit_code import ExitCode
from modelpivot.models.manifest import Counts, Problem, Verdict
from modelpivot.models.spelled import plain

ManifestFile = Annotated[
    Path | None, typer.Option("--manifest", help="Manifest file to hold the files against; the Hub is not asked for one.")
]
NOTHING = Counts(expected=0, verified=0, hashed_now=0)
UNVERIFIABLE = Verdict(
    verdict="unverifiable",
    files=NOTHING,
    bytes=NOTHING,
    problems=[
        Problem(
            file=".",
            code="NO_DIGEST",
            expected="a manifest beside the files",
            found="none",
            remedy="name one with --manifest FILE, or --repo ORG/NAME --revision COMMIT; --record keeps the digests of weights made here",
        )
    ],
)


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(fetch)
    app.command()(verify)
    app.command()(patch)


def fetch(
    repo: str,
    directory: Path,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or 40-hex commit; main where nothing else says.")] = None,
    origin: Annotated[
        str | None, typer.Option("--from", help="Directory, mount or Hub-compatible address to take files from first; proved all the same.")
    ] = None,
    manifest_file: ManifestFile = None,
    max_rate: Annotated[float | None, typer.Option(help="Most bytes a second, such as 50e6.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Bring a repository's files in and verify them; goes on where an earlier call ended."""
    from modelpivot.facts.repository import read_token
    from modelpivot.settings import read_host_config
    from modelpivot.weights.fetch import FetchOptions, fetch_manifest

    host = read_host_config()
    with Told("download") as tell:
        manifest = manifest_to_fetch(repo, revision, manifest_file, origin, tell)
        options = FetchOptions(reserve_bytes=host.disk_reserve_bytes, origin=origin, max_rate=max_rate)
        with _importing("modelpivot.weights.verify"):
            fetch_manifest(manifest, directory, endpoint=host.hub_endpoint, token=read_token(), tell=tell, options=options)
        _patch_again(directory, tell)
        from modelpivot.weights.verify import verify_directory

        verdict = verify_directory(directory, manifest, is_full=False, tell=tell).verdict
    _end(verdict, as_json=as_json, footer=f"{manifest.repo} at {manifest.commit} in {directory}")


def verify(
    directory: Path,
    manifest_file: ManifestFile = None,
    repo: Annotated[str | None, typer.Option(help="Or a repository on the Hub.")] = None,
    revision: Annotated[str, typer.Option(help="Branch, tag or 40-hex commit.")] = "main",
    full: Annotated[bool, typer.Option("--full", help="Hash every byte, whatever receipts say.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Keep the digests of weights that no manifest names: irreplaceable.")] = False,
    as_json: AsJson = False,
) -> None:
    """Prove weights: every file against its manifest, headers and index; all problems at once."""
    from modelpivot.weights.irreplaceable import read_irreplaceable, record_irreplaceable
    from modelpivot.weights.verify import verify_directory

    require_readable(directory)
    folder = folder_of(directory)
    held_against = manifest_to_verify(directory, manifest_file, repo, revision)
    with Told("verify") as tell:
        local = record_irreplaceable(folder, held_against, tell=tell) if record else read_irreplaceable(folder)
        if held_against is None and local is not None:
            held_against = local.manifest
        if held_against is None:
            verdict = UNVERIFIABLE
        else:
            verdict = verify_directory(directory, held_against, is_full=full, tell=tell, receipts_elsewhere=folder.own_elsewhere).verdict
    _end(verdict, as_json=as_json)


def _patch_again(directory: Path, tell: Told) -> None:
    from modelpivot.weights.patched import patch_record_path

    if patch_record_path(directory).exists():
        from modelpivot.stages.patch import patch_again

        patch_again(directory, tell)


@contextmanager
def _importing(module: str) -> Iterator[None]:
    """Import on another thread what is needed after the block, while the block waits for the wire."""
    thread = threading.Thread(target=import_module, args=(module,), name="import")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _end(verdict: Verdict, *, as_json: bool, footer: str = "") -> None:
    """Say it, and end with the exit code that the verdict means."""
    if as_json:
        answer(verdict)
    else:
        from modelpivot.cli.verdict_view import show_verdict

        show_verdict(console(), verdict)
        sys.stdout.write(plain(f"{footer}\n") if footer else "")
    raise typer.Exit(ExitCode.DONE if verdict.verdict == "complete" else ExitCode.SAID_NO)
