"""All commands on one app. The modules are light; what is heavy is imported where a command runs."""

from modelpivot.cli import bench, cleanup, demo, env, history, look, plan, recipe, reclaim, run, stages, up, upgrade, weights
from modelpivot.cli.commands import new_app

app = new_app()
for module in (bench, cleanup, demo, env, history, look, plan, recipe, reclaim, run, stages, up, upgrade, weights):
    module.add_to(app)
