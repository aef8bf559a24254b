"""Artifacts as text: everything that matters is in it, and nothing a model's name holds breaks a table."""

from pathlib import Path

from flows.markdown import SHOWN_ROWS, packages_markdown, report_markdown, shards_markdown
from modelpivot.models.benchmark import Check
from modelpivot.models.manifest import Counts, Problem, ShardRow, Verdict, Verified
from modelpivot.models.packages import PackageChange
from modelpivot.models.patched import PatchedFile
from modelpivot.models.plan import Blocker, Choice, Plan, Question, Step
from modelpivot.models.result import RunResult, StageTime
from modelpivot.plans.markdown import plan_markdown
from modelpivot.recipes import read_recipe


def make_row(number: int) -> ShardRow:
    return ShardRow(
        path=f"model-{number:05}.safetensors",
        is_weights=True,
        expected_size=5_000_000_000,
        found_size=5_000_000_000,
        expected_digest="a" * 64,
        found_digest="a" * 64,
        digest_kind="sha256",
        tensors=7,
    )


def make_verified(rows: int, problems: list[Problem]) -> Verified:
    counts = Counts(expected=rows, verified=rows - len(problems), hashed_now=1)
    verdict = Verdict(verdict="corrupt" if problems else "complete", files=counts, bytes=counts, problems=problems)
    return Verified(directory=Path("/w"), verdict=verdict, table=[make_row(number) for number in range(rows)])


def test_a_plan_tells_blockers_questions_steps_and_reasons() -> None:
    """Whatever a person must decide on stands in the artifact."""
    plan = Plan(
        recipe=read_recipe("demo"),
        from_release="old-1",
        candidate=None,
        manifest=None,
        resolution=None,
        blockers=[Blocker(code="DISK", what="free space", expected="10 GB", found="1 GB", remedy="free some")],
        questions=[Question(id="downgrade-numpy", text="numpy goes down, agreed?")],
        steps=[Step(name="fetch", what="119 files", estimate_s=90)],
        choices=[Choice(name="--max-model-len", value="1024", reason="recipe | fit")],
    )
    text = plan_markdown(plan)
    for words in ("old-1", "expected 10 GB, found 1 GB; free some", "downgrade-numpy", "| 119 files | 90 s |", "recipe \\| fit"):
        assert words in text


def test_plan_and_report_show_what_patches_change() -> None:
    """File, digests and the lines that differ, as a block that keeps their signs."""
    file = PatchedFile(file="config.json", before="a" * 64, after="b" * 64, diff=['- "kv": 8,', '+ "kv": null,'])
    plan = Plan(recipe=read_recipe("demo"), from_release=None, candidate=None, manifest=None, resolution=None, patched=[file])
    for text in (plan_markdown(plan), report_markdown(RunResult(run_id="r", outcome="promoted", exit_code=0, patched=[file]))):
        assert "`config.json` aaaaaaaaaaaa -> bbbbbbbbbbbb" in text and '````diff\n- "kv": 8,\n+ "kv": null,\n````' in text


def test_a_shard_table_names_problems_first_and_stays_bounded() -> None:
    """The problems are above the table, a thousand shards do not flood Prefect, and what is left out is counted."""
    problem = Problem(file="model-00001.safetensors", code="HASH_MISMATCH", expected="aa", found="bb", remedy="fetch again")
    text = shards_markdown(make_verified(1000, [problem]), [Check(name="rows | all", passed=False, expected="1000", found="999")])
    assert text.index("HASH_MISMATCH") < text.index("model-00000") and "rows \\| all" in text and "**no**" in text
    assert text.count("5.0 GB") == SHOWN_ROWS and f"{1000 - SHOWN_ROWS} more" in text


def test_a_report_tells_what_answers_where_and_what_was_lost() -> None:
    """Outcome, release, address, downtime, stages and the engine's own words; nothing serving is said in words."""
    stages = [StageTime(name="serve", seconds=61.25, result="done")]
    result = RunResult(
        run_id="r", outcome="returned", exit_code=4, message="too slow", released="old-1", attempted="new-1", downtime_s=1.25
    )
    text = report_markdown(result.model_copy(update={"stages": stages, "cause": ["KeyError: x"], "base_url": "http://here:8000"}))
    for words in ("# returned", "too slow", "old-1", "new-1", "1.2 s", "http://here:8000", "| serve | 61.2 | done |", "`KeyError: x`"):
        assert words in text
    assert "| answers now | nothing |" in report_markdown(result.model_copy(update={"released": None}))


def test_what_is_wrong_stands_first_in_the_shard_table() -> None:
    """The last of a thousand shards, failed, is the first row: a bounded table must not hide it."""
    verified = make_verified(1000, [])
    table = [*verified.table[:-1], verified.table[-1].model_copy(update={"problems": "HASH_MISMATCH"})]
    text = shards_markdown(verified.model_copy(update={"table": table}), [])
    assert text.index("model-00999.safetensors") < text.index("model-00000.safetensors")


def test_package_changes_say_from_what_to_what_and_what_is_asked() -> None:
    """Name, both versions, class and answer, a row each."""
    change = PackageChange(name="numpy", before="2.4.2", after="2.2.6", classes=["downgrade"], answer="consent")
    assert "| numpy | 2.4.2 | 2.2.6 | downgrade | **asked about** |" in packages_markdown([change])
