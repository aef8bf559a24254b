"""Install: the engine's environment, made beside the live one and proved. Runs while the old model serves, alongside the fetch."""

import time

from modelpivot.errors import PreconditionError
from modelpivot.facts.environments import read_environment
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.plan import Plan
from modelpivot.operations.environment import install_environment
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context


def install(context: Context, plan: Plan) -> EnvironmentProof:
    """The proved environment that the plan names; nothing to do when its proof holds.

    PreconditionError when the plan has no resolution (preflight says why); else the errors of `install_environment`.
    """
    tell, resolution = context.journal.stage("install"), plan.resolution
    if resolution is None:
        raise PreconditionError("install: the plan names no exact versions", hint="modelpivot plan tells what keeps them from being known")
    if proof := read_environment(context.host, resolution):
        tell("nothing_to_do", f"{resolution.environment_name} is installed and proved", packages=proof.packages)
        return proof
    started = time.monotonic()
    tell("started", f"{resolution.engine} {resolution.engine_version}: {len(resolution.pins)} packages into {resolution.environment_name}")
    proof = install_environment(context.host, resolution, read_engine(plan.recipe.engine.name), tell)
    tell("finished", f"{proof.engine} {proof.engine_version} proved", seconds=time.monotonic() - started, packages=proof.packages)
    return proof
