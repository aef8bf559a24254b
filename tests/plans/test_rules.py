"""Compatibility rules: when they hold, what they do, and that the recipe's own word goes before them."""

import hashlib
import json
from typing import Any

import pytest

from modelpivot.facts.model_config import parse_model_config
from modelpivot.models.facts import Facts, GpuLink, Gpus, ModelCard
from modelpivot.models.frozen import Unread
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.rule import Means, Rule, When
from modelpivot.plans.families import FAMILIES, family_of
from modelpivot.plans.ground import Ground
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.rule_table import RULES
from modelpivot.plans.rules import Outcome, apply_rules
from modelpivot.recipes import read_recipe
from tests.plans.samples import CUDA, HOST
from tests.recorded import KIMI_CONFIG, facts_of

SCHEME = {"dynamic": False, "num_bits": 8, "type": "float"}
KV_PLACES = {("config.json", "/quantization_config/kv_cache_scheme"), ("hf_quant_config.json", "/quantization/kv_cache_quant_algo")}


def facts(*, capability: str = "12.0", level: str | None = None, config: dict[str, Any] | None = None, **model: Any) -> Facts:
    """The brief's host with other cards, links or another config.json."""
    whole = facts_of("pro6000-clean")
    assert isinstance(whole.host.gpus, Gpus) and isinstance(whole.host.links, list)
    cards = [gpu.model_copy(update={"compute_capability": capability}) for gpu in whole.host.gpus.gpus]
    links = [link.model_copy(update={"level": level}) for link in whole.host.links] if level else whole.host.links
    host = whole.host.model_copy(update={"gpus": whole.host.gpus.model_copy(update={"gpus": cards}), "links": links})
    chosen = config or KIMI_CONFIG
    summary = parse_model_config(chosen, model.get("quantization_file"))
    changes = {"config": chosen, "summary": summary, **model}
    return whole.model_copy(update={"host": host, "model": whole.model.model_copy(update=changes)})


def recipe(**serve: Any) -> Recipe:
    """The brief's recipe; keyword arguments are laid over its serve block."""
    base = read_recipe("kimi-k2.5-nvfp4").model_dump()
    base["serve"] = {**base["serve"], **serve, "args": {**base["serve"]["args"], **serve.get("args", {})}}
    return Recipe.model_validate(base)


def plan(given: Facts, chosen: Recipe | None = None) -> Plan:
    """The plan over these facts."""
    return plan_pivot(chosen or recipe(), HOST, given, CUDA)


def patched(made: Plan) -> set[tuple[str, str]]:
    """Places that the candidate's view patches."""
    assert made.candidate is not None
    return {(patch.file, patch.pointer) for patch in made.candidate.patches}


def ids(made: Plan) -> set[str]:
    """Rules that hold."""
    return {rule.id for rule in made.rules}


@pytest.mark.parametrize(("capability", "is_patched"), [("12.0", True), ("12.1", True), ("10.0", False), ("9.0", False)])
def test_fp8_kv_goes_on_cards_that_cannot_do_it(capability: str, is_patched: bool) -> None:
    """E5: keyed on compute capability and attention kind; a B200 and an H200 keep it, from the same recipe."""
    assert bool(patched(plan(facts(capability=capability)))) == is_patched


def test_every_place_is_patched_and_the_older_keeps_its_key() -> None:
    """E6: config.json loses the scheme, hf_quant_config.json gets null, since NVFP4 is refused without its key."""
    older = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16}}
    made = plan(facts(quantization_file=older))
    assert patched(made) == KV_PLACES and made.candidate
    by_file = {patch.file: patch for patch in made.candidate.patches}
    assert by_file["config.json"].remove and not by_file["hf_quant_config.json"].remove and by_file["hf_quant_config.json"].new is None


def test_a_block_inside_the_text_model_is_patched_there() -> None:
    """Checkpoints nest it."""
    nested = {**KIMI_CONFIG, "text_config": {**KIMI_CONFIG["text_config"], "quantization_config": KIMI_CONFIG["quantization_config"]}}
    del nested["quantization_config"]
    assert patched(plan(facts(config=nested))) == {("config.json", "/text_config/quantization_config/kv_cache_scheme")}


def test_the_older_file_alone_counts_when_config_json_has_no_block() -> None:
    """E6: it is read only where the other is absent."""
    plain = {key: value for key, value in KIMI_CONFIG.items() if key != "quantization_config"}
    older = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    made = plan(facts(config=plain, quantization_file=older))
    assert patched(made) == {("hf_quant_config.json", "/quantization/kv_cache_quant_algo")}
    assert made.about["quantization"] == "modelopt NVFP4"


@pytest.mark.parametrize("value", [{"bits": 8}, {"type": "float"}, ["FP8"], 8])
def test_an_unknown_shape_is_not_edited(value: Any) -> None:
    """No edit where nobody knows what it says."""
    odd = {**KIMI_CONFIG, "quantization_config": {**KIMI_CONFIG["quantization_config"], "kv_cache_scheme": value}}
    assert patched(plan(facts(config=odd))) == set()


def test_the_recipes_flag_goes_before_the_rule() -> None:
    """kv-cache-dtype fp8 in the recipe stays, with a warning; bfloat16 needs no patch."""
    eight = plan(facts(), recipe(args={"kv-cache-dtype": "fp8"}))
    assert patched(eight) == set() and any("fp8-kv-sm120 leaves it" in warning for warning in eight.warnings)
    assert patched(plan(facts(), recipe(args={"kv-cache-dtype": "bfloat16"}))) == set()


def test_with_heads_instead_of_mla_it_is_a_warning() -> None:
    """FP8 works there with some versions: said, not taken away."""
    heads = {
        **KIMI_CONFIG["text_config"],
        "quantization_config": KIMI_CONFIG["quantization_config"],
        "num_key_value_heads": 8,
        "head_dim": 128,
    }
    del heads["kv_lora_rank"]
    made = plan(facts(config=heads))
    assert patched(made) == set() and "fp8-kv-sm120-heads" in ids(made)


@pytest.mark.parametrize(("version", "is_told"), [("0.15.0", True), ("0.32.0", False)])
def test_sparse_mla_is_told_where_no_kernel_has_it_and_its_cache_stays(version: str, is_told: bool) -> None:
    """An FP8 cache is what the kernel of these cards wants: no patch; an engine before it is told."""
    sparse = {**KIMI_CONFIG, "text_config": {**KIMI_CONFIG["text_config"], "index_head_dim": 128}}
    given = facts(config=sparse)
    assert isinstance(given.model.summary, ModelConfig) and isinstance(given.host.gpus, Gpus)
    found = apply_rules(RULES, Ground(recipe(), given.model.summary, given.host.gpus.gpus, [], version, 8))
    assert ("sparse-mla-sm120" in {rule.id for rule in found.applied}) == is_told and found.recipe.patches == recipe().patches


def test_nccl_variables_follow_the_topology() -> None:
    """PCIe only: set. NVLink between the cards, or a topology that was not read: left alone."""
    assert {"NCCL_P2P_LEVEL", "NCCL_PROTO"} <= set(plan(facts()).candidate.start.environment)  # type: ignore[union-attr]
    assert "nccl-pcie" not in ids(plan(facts(level="NV18")))
    blind = facts()
    assert "nccl-pcie" not in ids(plan(blind.model_copy(update={"host": blind.host.model_copy(update={"links": Unread(unread="x")})})))


def test_links_of_other_cards_do_not_count() -> None:
    """Two cards of a host with a bridge elsewhere are still PCIe only."""
    given = facts()
    assert isinstance(given.host.links, list)
    links = [GpuLink(first=6, second=7, level="NV4"), *(link for link in given.host.links if (link.first, link.second) != (6, 7))]
    two = recipe(gpus=2, args={"tensor-parallel-size": 2})
    made = plan(given.model_copy(update={"host": given.host.model_copy(update={"links": links})}), two)
    assert "nccl-pcie" in ids(made)


def test_the_recipes_own_variable_stays() -> None:
    """NCCL_PROTO Simple in the recipe: the rule sets the other one only."""
    made = plan(facts(), recipe(env={"NCCL_PROTO": "Simple"}))
    assert made.candidate and made.candidate.start.environment["NCCL_PROTO"] == "Simple"
    assert made.candidate.start.environment["NCCL_P2P_LEVEL"] == "SYS"


@pytest.mark.parametrize(("capability", "blocks", "warns"), [("7.0", True, False), ("9.0", False, True), ("12.0", False, False)])
def test_nvfp4_needs_its_cards(capability: str, blocks: bool, warns: bool) -> None:
    """Blocked where no kernel reads it, said where it runs through Marlin, silent where the card does it itself."""
    made = plan(facts(capability=capability))
    assert any(blocker.code == "RULE" for blocker in made.blockers) == blocks
    assert any("Marlin" in warning and "NVFP4" in warning for warning in made.warnings) == warns


def test_remote_code_runs_only_where_it_is_allowed_and_pinned() -> None:
    """E13: a moving branch asks, a pinned commit does not, and a recipe that does not allow it is told."""
    asked = {question.id for question in plan(facts()).questions}
    pinned = recipe().model_copy(update={"model": recipe().model.model_copy(update={"revision": "4d7e1c0b" * 5})})
    refused = plan(facts(), recipe(args={"trust-remote-code": False}))
    assert asked == {"remote-code"} and plan(facts(), pinned).questions == []
    assert refused.candidate and "--trust-remote-code" not in refused.candidate.start.argv
    assert any("brings Python code of its own" in warning for warning in refused.warnings)


def test_a_context_that_does_not_fit_blocks_with_the_longest_that_does() -> None:
    """E7: the old length over a cache that lost its FP8 no longer starts: blocked before anything stops, with the way out."""
    made = plan(facts(), recipe(args={"max-model-len": 262144}))
    [blocker] = [one for one in made.blockers if one.code == "CONTEXT_TOO_LONG"]
    assert "151776" in blocker.expected and "bfloat16" in blocker.expected and "leave it out" in blocker.remedy
    assert not [
        one for one in plan(facts(capability="10.0"), recipe(args={"max-model-len": 262144})).blockers if one.code == "CONTEXT_TOO_LONG"
    ]


def test_a_division_that_is_too_small_blocks() -> None:
    """What the card advises does not fit these cards: said with the division that does."""
    made = plan(facts(), recipe(args={"tensor-parallel-size": 4}))
    [blocker] = [one for one in made.blockers if one.code == "MODEL_TOO_LARGE"]
    assert "tensor parallel 8 fits" in blocker.remedy


def test_heads_that_cannot_be_divided_block() -> None:
    """64 heads over 7 GPUs."""
    made = plan(facts(), recipe(gpus=7, args={"tensor-parallel-size": 7}))
    assert "TENSOR_PARALLEL_UNEVEN" in {blocker.code for blocker in made.blockers}


def test_a_division_that_the_recipe_leaves_open_takes_its_gpus() -> None:
    """`gpus: 8` alone is tensor parallel 8."""
    open_recipe = recipe()
    args = {name: value for name, value in open_recipe.serve.args.items() if name != "tensor-parallel-size"}
    chosen = open_recipe.model_copy(update={"serve": open_recipe.serve.model_copy(update={"args": args})})
    made = plan(facts(card=ModelCard()), chosen)
    assert made.candidate and made.candidate.start.argv[made.candidate.start.argv.index("--tensor-parallel-size") + 1] == "8"


def undivided(gpus: int, **sizes: int) -> Recipe:
    """The brief's recipe without a tensor parallel, with these sizes beside it."""
    base = recipe(gpus=gpus)
    args = {name: value for name, value in base.serve.args.items() if name != "tensor-parallel-size"}
    sizes_said = {f"{name}-parallel-size": size for name, size in sizes.items()}
    return base.model_copy(update={"serve": base.serve.model_copy(update={"args": {**args, **sizes_said}})})


@pytest.mark.parametrize(
    ("gpus", "sizes", "tensor"),
    [(8, {"pipeline": 2}, 4), (8, {"data": 4}, 2), (8, {"pipeline": 2, "data": 2}, 2), (8, {"pipeline": 8}, 1), (2, {"pipeline": 4}, 1)],
)
def test_a_pipeline_or_replicas_leave_the_rest_to_tensor_parallel(gpus: int, sizes: dict[str, int], tensor: int) -> None:
    """Every GPU that the recipe asks for is used; plan, fit and command line agree."""
    made = plan(facts(card=ModelCard()), undivided(gpus, **sizes))
    assert made.candidate and made.decided and not isinstance(made.fit, Unread) and made.fit
    assert (made.fit.parallel.tensor, made.fit.parallel.gpus) == (tensor, made.decided.serve.gpus)
    assert ("--tensor-parallel-size" in made.candidate.start.argv) == (tensor > 1)
    assert "GPUS_UNDIVIDED" not in {blocker.code for blocker in made.blockers}


def test_gpus_that_cannot_be_divided_by_the_pipeline_block() -> None:
    """Eight over three stages: said with what would do; a recipe that says its tensor parallel itself is left alone."""
    [blocker] = [one for one in plan(facts(), undivided(8, pipeline=3)).blockers if one.code == "GPUS_UNDIVIDED"]
    assert "a multiple of 3: pipeline-parallel-size 3" in blocker.expected and blocker.found == "8"
    said = recipe(args={"tensor-parallel-size": 2, "pipeline-parallel-size": 3})
    assert "GPUS_UNDIVIDED" not in {one.code for one in plan(facts(), said).blockers}


def outcome(rules: list[Rule], chosen: Recipe, *, version: str = "0.32.0") -> Outcome:
    """These rules over the brief's model on its cards."""
    given = facts()
    assert isinstance(given.model.summary, ModelConfig) and isinstance(given.host.gpus, Gpus)
    return apply_rules(rules, Ground(chosen, given.model.summary, given.host.gpus.gpus, [], version, 8))


def test_a_rule_has_a_means_for_each_version() -> None:
    """One rule, two means, each with its versions: the flag where the engine honours it, else the patch."""
    flag = Means(kind="flag", name="kv-cache-dtype", value="bfloat16", engine_versions=">=0.26")
    rule = Rule(id="both", when=When(), why="test", means=[flag, Means(kind="patch_kv", engine_versions="<0.26")])
    newer, older, odd = (outcome([rule], recipe(), version=version) for version in ("0.32.0", "0.15.0", "unknown"))
    assert newer.recipe.serve.args["kv-cache-dtype"] == "bfloat16" and newer.recipe.patches == recipe().patches
    assert "kv-cache-dtype" not in older.recipe.serve.args and older.recipe.patches
    assert odd.recipe == recipe()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, {"max_window": "8"}),
        ('{"other": 1}', {"other": 1, "max_window": "8"}),
        ('{"max_window": 4}', {"max_window": 4}),
        ("[1]", [1]),
        ("not json", "not json"),
    ],
)
def test_hf_overrides_get_one_key_more(said: str | None, expected: Any) -> None:
    """Beside those that the recipe sets; its own word stays, and what is no object is left."""
    rule = Rule(id="over", when=When(), why="test", means=[Means(kind="hf_overrides", name="max_window", value="8")])
    found = outcome([rule], recipe(args={} if said is None else {"hf-overrides": said})).recipe.serve.args["hf-overrides"]
    assert found == expected or json.loads(str(found)) == expected


def test_an_unknown_shape_is_told_in_the_plan() -> None:
    """Not edited, and the person reads which place it is."""
    odd = {**KIMI_CONFIG, "quantization_config": {**KIMI_CONFIG["quantization_config"], "kv_cache_scheme": {"bits": 8}}}
    assert any(
        "/quantization_config/kv_cache_scheme in a shape that is not known" in warning for warning in plan(facts(config=odd)).warnings
    )


def test_an_attention_that_is_not_told_is_said() -> None:
    """Without its kind no rule about the cache can be judged."""
    bare = {"architectures": ["X"], "quantization_config": KIMI_CONFIG["quantization_config"]}
    made = plan(facts(config=bare))
    assert patched(made) == set() and any("does not tell the kind of attention" in warning for warning in made.warnings)


def test_the_plan_shows_what_differs() -> None:
    """With the file's text known: digests before and after, and the lines; without, nothing is made up."""
    text = json.dumps(KIMI_CONFIG, indent=4)
    [file] = plan(facts(texts={"config.json": text})).patched
    assert file.before == hashlib.sha256(text.encode()).hexdigest() != file.after
    assert any("kv_cache_scheme" in line for line in file.diff) and not any("quant_algo" in line for line in file.diff)
    assert plan(facts()).patched == []


def test_a_key_that_stands_twice_blocks_before_anything_is_fetched() -> None:
    """The plan looks into the text, where the parsed file shows one of them only."""
    text = '{"quantization_config": {}, ' + json.dumps(KIMI_CONFIG)[1:]
    made = plan(facts(texts={"config.json": text}))
    [blocker] = [one for one in made.blockers if one.code == "PATCH_EXPECTS_OTHER"]
    assert "stands 2 times" in blocker.found and made.patched == []


def test_rules_are_data_with_a_reason() -> None:
    """Ids are unique, and each says why."""
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.why and rule.id == rule.id.lower() for rule in RULES)


@pytest.mark.parametrize(
    ("names", "tool", "reasoning"),
    [
        (("nvidia/Kimi-K2.5-NVFP4",), "kimi_k2", "kimi_k2"),
        (("deepseek-ai/DeepSeek-V3.2-Exp",), "deepseek_v32", "deepseek_v3"),
        (("Qwen/Qwen3-235B-A22B-Instruct-2507",), "hermes", ""),
        (("Qwen/Qwen3-8B",), "hermes", "qwen3"),
        (("openai/gpt-oss-120b",), "openai", "openai_gptoss"),
        (("nvidia/GLM-5-NVFP4", "GlmMoeDsaForCausalLM"), "glm47", "glm45"),
        (("acme/own-name", "KimiK25ForConditionalGeneration", "kimi_k25"), "kimi_k2", "kimi_k2"),
    ],
)
def test_parsers_by_family(names: tuple[str, ...], tool: str, reasoning: str) -> None:
    """The repository's name first, then architecture and model type."""
    family = family_of(*names)
    assert family is not None and (family.tool_call, family.reasoning) == (tool, reasoning)


def test_families_that_nobody_knows() -> None:
    """No guess."""
    assert family_of("acme/thing", "ThingForCausalLM") is None
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
