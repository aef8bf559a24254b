"""The Great Expectations suite over the shard table. Importing the library takes seconds, so it is imported when a suite runs.

Stricter than the library in one thing: an expectation that evaluated nothing has failed.
"""

import logging
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from modelpivot.errors import UsageError
from modelpivot.files import describe_invalid
from modelpivot.models.benchmark import Check
from modelpivot.models.frozen import Frozen
from modelpivot.models.manifest import ShardRow
from modelpivot.recipes import DEPLOYMENTS, load_yaml

SHARDS = DEPLOYMENTS / "expectations" / "shards.yaml"
NAMES_SHOWN = 10


class Expectation(Frozen):
    """One demand of a suite."""

    name: str
    """What the report shows."""
    type: str
    """The library's name of the expectation."""
    kwargs: dict[str, JsonValue]


class Suite(Frozen):
    """The demands of one file, in the order in which they are reported."""

    name: str
    conditions: list[dict[str, JsonValue]] = Field(default_factory=list)
    """Which rows a demand is about, named once and used by several; nothing is evaluated by itself."""
    expectations: list[Expectation] = Field(min_length=1)


class SuiteResult(Frozen):
    """What a run of the suite said; the JSON in the run's folder."""

    suite: str
    passed: bool
    checks: list[Check]
    results: list[dict[str, JsonValue]]
    """The library's own results, as plain JSON."""


def read_suite(path: Path = SHARDS) -> Suite:
    """A suite from its file. UsageError names file and field."""
    try:
        return Suite.model_validate(load_yaml(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_invalid(error)}") from error


def run_suite(rows: Sequence[ShardRow], path: Path = SHARDS, *, expected_files: int) -> SuiteResult:
    """Every expectation's answer over the rows; `expected_files` is the manifest's count. The demand that fails names the files it fails for."""
    suite = read_suite(path)
    results = _validate(rows, suite, {"expected_files": expected_files})
    checks = [_check(expectation, result) for expectation, result in zip(suite.expectations, results, strict=True)]
    return SuiteResult(
        suite=suite.name,
        passed=bool(checks) and all(check.passed for check in checks),
        checks=checks,
        results=[_plain(it) for it in results],
    )


def _validate(rows: Sequence[ShardRow], suite: Suite, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The library's results in the order of the suite; each carries its expectation's place."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    from modelpivot.checks.table import shard_frame

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    asset = context.data_sources.add_pandas("memory").add_dataframe_asset("table")
    batch = asset.add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": shard_frame(rows)})
    demands = [{"type": each.type, "kwargs": dict(each.kwargs), "meta": {"place": place}} for place, each in enumerate(suite.expectations)]
    outcome = batch.validate(
        gx.ExpectationSuite(name=suite.name, expectations=demands),
        expectation_parameters=dict(parameters),
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["path"]},
    )
    results = [result.to_json_dict() for result in outcome.results]
    return sorted(results, key=lambda result: result["expectation_config"]["meta"]["place"])


def _check(expectation: Expectation, result: Mapping[str, Any]) -> Check:
    details = result.get("result") or {}
    raised = _exception(result.get("exception_info") or {})
    is_evaluated = not raised and has_evaluated(details)
    return Check(
        name=expectation.name,
        passed=bool(result["success"]) and is_evaluated,
        expected=_say_expected(result),
        found=f"error: {raised}" if raised else _say_found(details) if is_evaluated else "nothing was evaluated",
    )


def _exception(info: Mapping[str, Any]) -> str:
    """The message of what was raised, on its own or below the metric that raised it; empty: nothing was."""
    entries = [info, *(entry for entry in info.values() if isinstance(entry, Mapping))]
    return "; ".join(str(entry["exception_message"]) for entry in entries if entry.get("raised_exception"))


def has_evaluated(details: Mapping[str, Any]) -> bool:
    """Whether anything was looked at: a value observed, or at least one row that is not null (or is unexpected for being null)."""
    if "observed_value" in details:
        value = details["observed_value"]
        return value is not None and not (isinstance(value, float) and math.isnan(value))
    rows = int(details.get("element_count") or 0)
    return rows > 0 and rows - int(details.get("missing_count") or 0) > 0


def _say_expected(result: Mapping[str, Any]) -> str:
    """The demand for a person; parameters of the manifest are filled in."""
    kwargs = result["expectation_config"]["kwargs"]
    if "value" in kwargs:
        return f"{kwargs['value']}"
    if "value_set" in kwargs:
        return f"{kwargs['column']} one of {', '.join(kwargs['value_set'])}"
    if "min_value" in kwargs:
        return f"{kwargs['column']} at least {kwargs['min_value']:g}"
    return f"{kwargs['column_A']} as {kwargs['column_B']}" if "column_A" in kwargs else f"{kwargs['column']} in every row"


def _say_found(details: Mapping[str, Any]) -> str:
    if "observed_value" in details:
        return str(details["observed_value"])
    rows, count = details["element_count"], details["unexpected_count"]
    if not count:
        return f"{rows} rows, all as expected"
    where = [str(entry.get("path")) for entry in details.get("unexpected_index_list") or []]
    more = f" and {len(where) - NAMES_SHOWN} more" if len(where) > NAMES_SHOWN else ""
    return f"{count} of {rows} rows are not: {', '.join(where[:NAMES_SHOWN])}{more}"


def _plain(value: Any) -> Any:
    """Numbers of the library's own types, NaN and pandas' NA become what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else None if isinstance(value, float) else str(value)
