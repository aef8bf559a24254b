"""Puts it all in place at a Prefect API: work pool, blocks, alert channels, deployments, automations. Idempotent.

Run as `python -m deployments.apply` with PREFECT_API_URL set; a worker (`prefect worker start --pool gpu-hosts`) then carries runs out. Run on a
host that has a name (MODELPIVOT_NAME), it makes that host's queue and nightly too.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import yaml
from prefect.blocks.core import Block
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.settings import PREFECT_API_URL
from prefect.workers.process import ProcessWorker

import blocks
from deployments.automate import apply_automations
from deployments.channels import deliver_channels
from deployments.entries import choose_entries, read_document
from modelpivot.errors import PivotError, PreconditionError, UsageError
from modelpivot.host import run_command
from modelpivot.models.spelled import plain
from modelpivot.settings import read_host_config

PROJECT = Path(__file__).resolve().parents[1]
WORK_POOL = "gpu-hosts"
DEPLOY_TIMEOUT_S = 300.0


def apply() -> Iterator[str]:
    """Put everything in place, one line for each thing. PreconditionError when the API is away, CommandFailed when it refuses a deployment."""
    client = open_api()
    yield f"work pool {WORK_POOL}: {make_work_pool(client)}"
    for block in block_types():
        block.register_type_and_schema()
        yield f"block {block.get_block_type_slug()}: registered"
    channels, lines = deliver_channels(client)
    yield from lines
    yield from deploy_all(client)
    yield from apply_automations(client, channels)


def open_api() -> SyncPrefectClient:
    """A client of the API that PREFECT_API_URL names; UsageError when none is named, PreconditionError when it does not answer."""
    url = PREFECT_API_URL.value()
    if not url:
        raise UsageError("no Prefect API is named", hint="set PREFECT_API_URL, such as http://127.0.0.1:4200/api (prefect server start)")
    client = get_client(sync_client=True)
    try:
        client.hello().raise_for_status()
    except httpx.HTTPError as error:
        hint = "start it (prefect server start) or mend PREFECT_API_URL and PREFECT_API_KEY or PREFECT_API_AUTH_STRING"
        raise PreconditionError(f"the Prefect API at {url} does not answer: {error}", hint=hint) from error
    return client


def make_work_pool(client: SyncPrefectClient) -> str:
    """Make the pool of process workers; what was done, in a word. A pool that is there stays as it is."""
    try:
        client.read_work_pool(WORK_POOL)
    except ObjectNotFound:
        pool = WorkPoolCreate(name=WORK_POOL, type=ProcessWorker.type, base_job_template=ProcessWorker.get_default_base_job_template())
        try:
            client.create_work_pool(pool)
        except ObjectAlreadyExists:
            return "there"
        return "made"
    return "there"


def block_types() -> list[type[Block]]:
    """Every block of this project."""
    return [getattr(blocks, name) for name in blocks.__all__]


def deploy_all(client: SyncPrefectClient) -> Iterator[str]:
    """Every entry of prefect.yaml, from this clone, and this host's own nightly. Schedules that the API has stay as they are."""
    document = choose_entries(read_document(PROJECT / "prefect.yaml"), read_host_config(), lambda name: _is_there(client, name))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "prefect.yaml")
        file.write_text(yaml.safe_dump(document))
        argv = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
        result = run_command(argv, timeout_s=DEPLOY_TIMEOUT_S, cwd=PROJECT, env={**os.environ, "PWD": str(PROJECT)})
    yield from (f"deployment {line.split(chr(39))[1]}: in place" for line in result.stdout.splitlines() if "successfully created" in line)


def _is_there(client: SyncPrefectClient, deployment: str) -> bool:
    try:
        client.read_deployment_by_name(deployment)
    except ObjectNotFound:
        return False
    return True


def main() -> int:
    """Print what is in place; 0, or the error's exit code with its message."""
    try:
        for line in apply():
            sys.stdout.write(plain(f"{line}\n"))
    except PivotError as error:
        sys.stderr.write(plain(f"{error}\n"))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
