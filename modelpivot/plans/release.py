"""The candidate: a release frozen from recipe, manifest, resolution and host. Pure; nothing about how it starts is decided after this.

The id holds what is served and nothing else: thresholds, workloads, probes, deadlines and hooks may change without making another release.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from modelpivot.models.engine import Engine, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, weights_directory
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Hooks, Patch, Recipe, Scalar
from modelpivot.models.release import Endpoint, Release, StartSpec

CACHES = {
    "VLLM_CACHE_ROOT": "vllm",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "HF_HOME": "huggingface",
}
"""Variable -> folder below the release's caches: compiled kernels of one release never meet those of another."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OFFLINE = {"HF_HUB_OFFLINE": "1"}
"""A start needs no network: everything is in the view."""


def candidate_release(recipe: Recipe, host: HostConfig, engine: Engine, manifest: Manifest, resolution: Resolution) -> Release:
    """The release that this recipe gives on this host; `created_at` is 0 until it is frozen."""
    environment_dir = host.environments_root / resolution.environment_name
    endpoint = release_endpoint(recipe, host)
    digest = serving_digest(recipe, engine, manifest, resolution, endpoint)
    release_id = f"{recipe.name}-{digest[:10]}"
    root = host.state_dir / "releases" / release_id
    model = root / "view" / model_file(manifest)
    return Release(
        id=release_id,
        name=recipe.name,
        serving_digest=digest,
        repo=manifest.repo,
        commit=manifest.commit,
        weights_dir=weights_directory(host.weights_root, manifest.repo, manifest.commit),
        view_dir=root / "view",
        environment_dir=environment_dir,
        engine=engine.name,
        engine_version=resolution.engine_version,
        start=StartSpec(
            argv=[str(environment_dir / "bin/python"), *serve_arguments(recipe, engine, resolution.engine_version, str(model), endpoint)],
            environment=start_environment(recipe, engine, environment_dir, root / "caches"),
            working_directory=root,
            user=host.engine_user,
        ),
        endpoint=endpoint,
        gate=engine.gate,
        gpus=recipe.serve.gpus,
        patches=recipe.patches,
        probes=recipe.probes,
        deadlines=recipe.deadlines,
        hooks=joined_hooks(host.hooks, recipe.hooks),
    )


def pin_recipe(recipe: Recipe, plan: Plan) -> Recipe:
    """The recipe at the commit and the packages that the plan found, and with what it decided: planned again, none of it moves, and the Hub is not
    needed once the model is on disk."""
    recipe = plan.decided or recipe
    source, engine = recipe.model, recipe.engine
    if plan.manifest is not None:
        source = source.model_copy(update={"revision": plan.manifest.commit})
    if plan.resolution is not None:
        engine = engine.model_copy(update={"resolution": plan.resolution.digest})
    return recipe.model_copy(update={"model": source, "engine": engine})


def changed_settings(frozen: Release, candidate: Release) -> list[str]:
    """Which settings of the candidate differ from those that the same release was frozen with; everything else is part of its id."""
    return [name for name in ("probes", "deadlines", "hooks") if getattr(frozen, name) != getattr(candidate, name)]


def release_endpoint(recipe: Recipe, host: HostConfig) -> Endpoint:
    """Where it answers: the host's port where the host has one, else the recipe's."""
    serve = recipe.serve
    key = host.state_dir / "api_key" if serve.api_key else None
    return Endpoint(bind=serve.bind, port=host.port or serve.port, served_name=serve.served_name, api_key_file=key)


def serve_arguments(recipe: Recipe, engine: Engine, version: str, model: str, endpoint: Endpoint) -> list[str]:
    """The command line behind the interpreter: what the engine gets in this version, then the recipe's flags in its order."""
    fixed = ["--model", model, "--served-model-name", endpoint.served_name, "--host", endpoint.bind, "--port", str(endpoint.port)]
    return [*engine.words(version), *fixed, *flags(recipe.serve.args)]


def flags(args: dict[str, Scalar | list[str]]) -> list[str]:
    """Flags as words: true is the bare flag, false and null are left out, a list follows its flag."""
    words: list[str] = []
    for name, value in args.items():
        if value is None or value is False:
            continue
        values = [] if value is True else [str(item) for item in value] if isinstance(value, list) else [str(value)]
        words += [f"--{name}", *values]
    return words


def start_environment(recipe: Recipe, engine: Engine, environment_dir: Path, caches: Path) -> dict[str, str]:
    """The engine's variables: its own tools first (kernels are built with its ninja), caches of its own, offline, GPUs counted as nvidia-smi
    counts them; the recipe has the last word."""
    own = {variable: str(caches / folder) for variable, folder in CACHES.items()}
    return {"PATH": f"{environment_dir / 'bin'}:{SYSTEM_PATH}"} | own | fixed_environment(recipe, engine)


def fixed_environment(recipe: Recipe, engine: Engine) -> dict[str, str]:
    """The part of the variables that holds no path of this release."""
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if recipe.serve.gpus else {}
    return OFFLINE | order | engine.serve_env | recipe.serve.env


def model_file(manifest: Manifest) -> str:
    """What `--model` names inside the view: the folder itself, or the (first) GGUF file where the weights are GGUF alone."""
    names = sorted(file.path for file in manifest.files)
    ggufs = [name for name in names if name.endswith(".gguf")]
    return ggufs[0] if ggufs and not any(name.endswith(".safetensors") for name in names) else ""


def serving_digest(recipe: Recipe, engine: Engine, manifest: Manifest, resolution: Resolution, endpoint: Endpoint) -> str:
    """sha256 over what is served: files, patches, engine lock, start. Neither the time nor the release's own path is in it."""
    served = {
        "repo": manifest.repo,
        "commit": manifest.commit,
        "files": _file_lines(manifest),
        "patches": [_patch_words(patch) for patch in recipe.patches],
        "engine": [engine.name, resolution.engine_version, resolution.digest],
        "arguments": serve_arguments(recipe, engine, resolution.engine_version, model_file(manifest), endpoint),
        "environment": fixed_environment(recipe, engine),
        "api_key": recipe.serve.api_key,
        "gpus": recipe.serve.gpus,
    }
    return hashlib.sha256(json.dumps(served, sort_keys=True).encode()).hexdigest()


def joined_hooks(*all_hooks: Hooks) -> Hooks:
    """The hooks of host and recipe in this order, so that going back needs neither."""
    return Hooks(
        before=_joined(hooks.before for hooks in all_hooks),
        after=_joined(hooks.after for hooks in all_hooks),
        drain=_joined(hooks.drain for hooks in all_hooks),
        undrain=_joined(hooks.undrain for hooks in all_hooks),
    )


def _joined(lists: Iterable[Sequence[str]]) -> list[str]:
    return [command for commands in lists for command in commands]


def _file_lines(manifest: Manifest) -> list[list[str | None]]:
    return sorted([file.path, file.sha256, file.git_oid] for file in manifest.files)


def _patch_words(patch: Patch) -> dict[str, object]:
    return patch.model_dump(mode="json", exclude={"why"})
