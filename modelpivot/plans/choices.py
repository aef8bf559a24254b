"""Every decided value of the candidate with its reason, for the person who reads the plan. Pure; decides nothing that the release does not hold."""

from collections.abc import Mapping, Sequence

from modelpivot.models.engine import Engine, Resolution
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest
from modelpivot.models.plan import Choice
from modelpivot.models.pointer import say_json
from modelpivot.models.recipe import Patch, Recipe, Scalar
from modelpivot.models.size import say_bytes

BY_RECIPE = "the recipe sets it"
WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth")
LEFT_OUT_SHOWN = 5


def make_choices(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine, reasons: Mapping[str, str]) -> list[Choice]:
    """The choices in the order of the recipe: model, engine, patches, endpoint, flags, variables. What is unread has no choice yet.

    `reasons`: of what a rule or the fit decided, by flag or variable; anything else the recipe sets.
    """
    manifest, resolution = facts.model.manifest, facts.engine.resolution
    return [
        *([] if isinstance(manifest, Unread) else [_commit(recipe, manifest), _files(recipe, manifest, facts.model.left_out)]),
        *([] if isinstance(resolution, Unread) else [_engine(recipe, engine, resolution)]),
        *(_patch(patch) for patch in recipe.patches),
        *_endpoint(recipe, host),
        *(_flag(name, value, reasons) for name, value in recipe.serve.args.items() if value is not None and value is not False),
        *(Choice(name=name, value=value, reason=reasons.get(name, BY_RECIPE)) for name, value in recipe.serve.env.items()),
        *_gpu_order(recipe),
        _unconfirmed(recipe, is_first=facts.host.current is None),
    ]


def _commit(recipe: Recipe, manifest: Manifest) -> Choice:
    revision = recipe.model.revision
    reason = "it is pinned" if revision == manifest.commit else f"{revision} of {recipe.model.repo} stands there now"
    return Choice(name="commit", value=manifest.commit, reason=reason)


def _files(recipe: Recipe, manifest: Manifest, left_out: Sequence[str]) -> Choice:
    weights = sum(file.path.endswith(WEIGHTS) for file in manifest.files)
    value = f"{weights} weights files and {len(manifest.files) - weights} more, {say_bytes(manifest.bytes_total)}"
    asked = [
        f"model.{name} {', '.join(globs)}"
        for name, globs in (("include", recipe.model.include), ("exclude", recipe.model.exclude))
        if globs
    ]
    reason = f"the recipe says {' and '.join(asked)}" if asked else "one set of weights of the root and what an engine reads with it"
    return Choice(name="files", value=value, reason=f"{reason}; {_say_left_out(left_out)}")


def _say_left_out(names: Sequence[str]) -> str:
    if not names:
        return "nothing is left out"
    heavy_first = sorted(names, key=lambda name: (not name.endswith(WEIGHTS), name))
    shown = ", ".join(heavy_first[:LEFT_OUT_SHOWN])
    return f"left out: {shown}" + (f" and {len(names) - LEFT_OUT_SHOWN} more" if len(names) > LEFT_OUT_SHOWN else "")


def _engine(recipe: Recipe, engine: Engine, resolution: Resolution) -> Choice:
    reason = "the recipe names the version" if recipe.engine.version else "it is the newest version that this project was tested with"
    return Choice(name="engine", value=f"{engine.distribution} {resolution.engine_version}", reason=reason)


def _patch(patch: Patch) -> Choice:
    value = f"{patch.pointer} {'removed' if patch.remove else f'set to {say_json(patch.new)}'}"
    return Choice(name=f"patch {patch.file}", value=value, reason=patch.why)


def _endpoint(recipe: Recipe, host: HostConfig) -> list[Choice]:
    port = (host.port, "the host's configuration says so") if host.port else (recipe.serve.port, "the recipe asks for it")
    return [
        Choice(name="--served-model-name", value=recipe.serve.served_name, reason="it is the name that clients use"),
        Choice(name="--host", value=recipe.serve.bind, reason="the recipe binds it"),
        Choice(name="--port", value=str(port[0]), reason=port[1]),
    ]


def _flag(name: str, value: Scalar | list[str], reasons: Mapping[str, str]) -> Choice:
    shown = "on" if value is True else " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return Choice(name=f"--{name}", value=shown, reason=reasons.get(f"--{name}", BY_RECIPE))


def _gpu_order(recipe: Recipe) -> list[Choice]:
    if not recipe.serve.gpus or "CUDA_DEVICE_ORDER" in recipe.serve.env:
        return []
    return [Choice(name="CUDA_DEVICE_ORDER", value="PCI_BUS_ID", reason="GPUs are then counted as nvidia-smi counts them")]


def _unconfirmed(recipe: Recipe, *, is_first: bool) -> Choice:
    word = "goes back by itself" if recipe.unconfirmed == "return" and not is_first else "stays"
    reason = "nothing serves that it could go back to" if recipe.unconfirmed == "return" and is_first else "the recipe says so"
    return Choice(name="unconfirmed", value=f"{word} after {recipe.deadlines.confirm_s:g} s", reason=reason)
