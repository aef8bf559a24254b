"""The recipe of one run: the one that was chosen, with what a person changed for this run alone. Pure."""

from modelpivot.models.overrides import Overrides
from modelpivot.models.plan import Choice, Plan
from modelpivot.models.recipe import Recipe, Scalar

FLAGS = ("max_model_len", "tensor_parallel_size", "gpu_memory_utilization")
"""Fields that are flags of the engine."""
CHOICES = {
    **{name: f"--{name.replace('_', '-')}" for name in FLAGS},
    "port": "--port",
    "engine_version": "engine",
    "revision": "commit",
    "unconfirmed": "unconfirmed",
    "confirm_minutes": "unconfirmed",
}
"""Field -> the choice of a plan that it decides."""


def override(recipe: Recipe, overrides: Overrides) -> Recipe:
    """The recipe with every field that was filled in; the recipe itself when none was."""
    changes = {
        "model": recipe.model.model_copy(update=_given(revision=overrides.revision)),
        "engine": recipe.engine.model_copy(update=_given(version=overrides.engine_version)),
        "serve": recipe.serve.model_copy(update=_serving(recipe, overrides)),
        "deadlines": recipe.deadlines.model_copy(update=_deadlines(overrides)),
        "consents": [*dict.fromkeys([*recipe.consents, *overrides.consents])],
        **_given(unconfirmed=overrides.unconfirmed),
        **({"workloads": [], "floors": []} if overrides.skip_benchmark else {}),
    }
    return recipe.model_copy(update=changes)


def say_overrides(overrides: Overrides) -> list[str]:
    """What was filled in, a line each, by the names that the form shows."""
    given = overrides.model_dump(exclude_defaults=True)
    return [f"{Overrides.model_fields[name].title}: {_text(value)}" for name, value in given.items()]


def tell_overrides(plan: Plan, overrides: Overrides) -> Plan:
    """The plan with what was filled in, and with this run as the reason of the choices that follow from it; as it is when nothing was."""
    given = overrides.model_dump(exclude_defaults=True)
    decided = {CHOICES[name] for name in given if name in CHOICES}
    choices = [_by_this_run(choice) if choice.name in decided else choice for choice in plan.choices]
    return plan.model_copy(update={"overrides": say_overrides(overrides), "choices": choices})


def _by_this_run(choice: Choice) -> Choice:
    return choice.model_copy(update={"reason": choice.reason.replace("the recipe", "this run", 1)})


def _serving(recipe: Recipe, overrides: Overrides) -> dict[str, object]:
    flags: dict[str, Scalar] = {name.replace("_", "-"): value for name in FLAGS if (value := getattr(overrides, name)) is not None}
    gpus = overrides.tensor_parallel_size if recipe.serve.gpus else None
    return {"args": {**recipe.serve.args, **flags}, **_given(port=overrides.port, gpus=gpus)}


def _deadlines(overrides: Overrides) -> dict[str, object]:
    return _given(confirm_s=overrides.confirm_minutes * 60 if overrides.confirm_minutes else None)


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else str(value)
