"""Install: the engine's environment, made beside the live one and proved. Runs while the old model serves, alongside the fetch."""

from modelpivot.errors import PreconditionError
from modelpivot.models.counted import counted
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.plan import Plan
from modelpivot.operations.environment import install_environment
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.told import told


def install(context: Context, plan: Plan) -> EnvironmentProof:
    """The proved environment that the plan names; nothing to do when its proof holds.

    PreconditionError when the plan has no resolution (preflight says why); else the errors of `install_environment`.
    """
    resolution = plan.resolution
    if resolution is None:
        raise PreconditionError("install: the plan names no exact versions", hint="modelpivot plan tells what keeps them from being known")
    what = f"{resolution.engine} {resolution.engine_version}: {counted(len(resolution.pins), 'package')} in {resolution.environment_name}"
    with told(context.journal, "install", what) as (tell, ending):
        proof = install_environment(context.host, resolution, read_engine(plan.recipe.engine.name), tell)
        end = ending.finish if proof.new else ending.nothing_to_do
        end(f"{proof.engine} {proof.engine_version} with {counted(proof.packages, 'package')}, proved", packages=proof.packages)
    return proof
