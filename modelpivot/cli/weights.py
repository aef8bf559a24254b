"""fetch and verify: bring weights in, prove weights."""

from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console
from modelpivot.cli.told import Told
from modelpivot.errors import PreconditionError, TransientError, UsageError
from modelpivot.models.exit_code import ExitCode
from modelpivot.models.frozen import Unread
from modelpivot.models.manifest import Counts, Manifest, Problem, Verdict
from modelpivot.models.size import say_bytes

Revision = Annotated[str, typer.Option(help="Branch, tag or 40-hex commit.")]

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
            remedy="name one with --manifest FILE, or --repo ORG/NAME --revision COMMIT",
        )
    ],
)


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(fetch)
    app.command()(verify)


def fetch(
    repo: str,
    directory: Path,
    revision: Revision = "main",
    origin: Annotated[
        str | None, typer.Option("--from", help="Directory, mount or Hub-compatible address to take files from first; proved all the same.")
    ] = None,
    max_rate: Annotated[float | None, typer.Option(help="Most bytes a second, such as 50e6.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Bring a repository's files in and verify them; goes on where an earlier call ended."""
    from modelpivot.cli.verdict_view import show_verdict
    from modelpivot.facts.hub import read_token
    from modelpivot.settings import read_host_config
    from modelpivot.weights.fetch import FetchOptions, fetch_manifest
    from modelpivot.weights.verify import verify_directory

    host = read_host_config()
    options = FetchOptions(reserve_bytes=host.disk_reserve_bytes, origin=origin, max_rate=max_rate)
    manifest = _manifest_from_hub(repo, revision)
    with Told("download") as tell:
        fetch_manifest(manifest, directory, endpoint=host.hub_endpoint, token=read_token(), tell=tell, options=options)
        verified = verify_directory(directory, manifest, is_full=False, tell=tell)
    if as_json:
        answer(verified.verdict)
    else:
        show_verdict(console(), verified.verdict)
        console().print(f"{manifest.repo} at {manifest.commit}: {say_bytes(manifest.bytes_total)} in {directory}")
    raise typer.Exit(ExitCode.DONE if verified.verdict.verdict == "complete" else ExitCode.SAID_NO)


def verify(
    directory: Path,
    manifest: Annotated[Path | None, typer.Option(help="Manifest file to hold the files against.")] = None,
    repo: Annotated[str | None, typer.Option(help="Or a repository on the Hub.")] = None,
    revision: Revision = "main",
    full: Annotated[bool, typer.Option("--full", help="Hash every byte, whatever receipts say.")] = False,
    as_json: AsJson = False,
) -> None:
    """Prove weights: every file against its manifest, headers and index; all problems at once."""
    from modelpivot.cli.verdict_view import show_verdict
    from modelpivot.settings import read_host_config
    from modelpivot.weights.layout import receipts_elsewhere
    from modelpivot.weights.verify import verify_directory

    if not directory.is_dir():
        raise UsageError(f"{directory}: expected a directory of weights, found {'a file' if directory.exists() else 'nothing'}")
    held_against = _manifest(directory, manifest, repo, revision)
    if held_against is None:
        verdict = UNVERIFIABLE
    else:
        with Told("verify") as tell:
            elsewhere = receipts_elsewhere(read_host_config().state_dir, directory)
            verdict = verify_directory(directory, held_against, is_full=full, tell=tell, receipts_elsewhere=elsewhere).verdict
    answer(verdict) if as_json else show_verdict(console(), verdict)
    raise typer.Exit(ExitCode.DONE if verdict.verdict == "complete" else ExitCode.SAID_NO)


def _manifest(directory: Path, path: Path | None, repo: str | None, revision: str) -> Manifest | None:
    """The manifest to hold files against, by default the one beside them; None: there is none."""
    from modelpivot.files import read_model
    from modelpivot.weights.manifest import read_manifest

    if path and repo:
        raise UsageError("--manifest and --repo: expected one of them, found both")
    if repo:
        return _manifest_from_hub(repo, revision)
    if path is None:
        return read_manifest(directory)
    if (read := read_model(path, Manifest)) is None:
        raise UsageError(f"{path}: no such manifest file")
    return read


def _manifest_from_hub(repo: str, revision: str) -> Manifest:
    from modelpivot.facts.hub import read_hub
    from modelpivot.models.recipe import Source
    from modelpivot.settings import read_host_config

    hub = read_hub(read_host_config(), Source(repo=repo, revision=revision))
    if not isinstance(hub.manifest, Unread):
        return hub.manifest
    message = f"{repo} at {revision}: no manifest: {hub.manifest.unread}"
    if hub.hub_problem == "unreachable":
        raise TransientError(message, hint="the same command goes on when the Hub answers again")
    raise PreconditionError(message, hint="mend what it says, then the same command goes on")
