"""What no single file shows: the index against the headers, the parts of a split file, weights that are missing or too many, leftovers, and whether
config and tokenizer go with the weights."""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from modelpivot.errors import IntegrityError
from modelpivot.files import walk
from modelpivot.models.manifest import Manifest, Problem, ProblemCode
from modelpivot.models.model_files import lacks_config, lacks_tokenizer
from modelpivot.weights.finding import Finding
from modelpivot.weights.gguf import Split, split_name
from modelpivot.weights.index import judge_index, parse_index
from modelpivot.weights.irreplaceable import NO_COMMIT
from modelpivot.weights.layout import OWN, WeightsFolder, is_weights
from modelpivot.weights.manifest import index_name


def judge_whole(folder: WeightsFolder, manifest: Manifest, findings: Sequence[Finding]) -> list[Problem]:
    """Everything that no single file shows: index, parts, presence, config and tokenizer, strays, downloads that did not end."""
    return [
        *_judge_index(folder, manifest, findings),
        *_judge_splits(findings),
        *_judge_presence(manifest),
        *_judge_company(_names(folder, manifest)),
        *_judge_extra(folder, manifest),
        *_judge_partials(folder),
    ]


def _judge_index(folder: WeightsFolder, manifest: Manifest, findings: Sequence[Finding]) -> list[Problem]:
    index = index_name(manifest)
    if index is None or not (folder.root / index).is_file():
        return _duplicates_without_index(findings) if index is None else []
    try:
        weight_map = parse_index((folder.root / index).read_bytes())
    except (IntegrityError, OSError) as error:
        return [Problem(file=index, code="INDEX_INVALID", expected="an index", found=str(error), remedy="take another revision")]
    tensors = {finding.file.path: finding.header.tensors.keys() for finding in findings if finding.header is not None}
    return judge_index(index, weight_map, tensors, [file.path for file in manifest.files])


def _duplicates_without_index(findings: Sequence[Finding]) -> list[Problem]:
    tensors = {finding.file.path: finding.header.tensors.keys() for finding in findings if finding.header is not None}
    together = {name: path for path, names in tensors.items() for name in names}
    return judge_index("", together, tensors, tensors) if len(tensors) > 1 else []


def _judge_splits(findings: Sequence[Finding]) -> list[Problem]:
    """Every part of a split GGUF is there, and is the part that its name says."""
    sets: dict[str, list[Finding]] = defaultdict(list)
    problems = []
    for finding in findings:
        named = split_name(finding.file.path)
        if finding.split is None:
            continue
        told = finding.split
        if told.count > 1 or named:
            stem, by_name = named or (finding.file.path, Split(0, 1))
            sets[stem].append(finding)
            if (by_name.number, by_name.count) != (told.number, told.count):
                expected, found = f"part {by_name.number + 1} of {by_name.count}", f"part {told.number + 1} of {told.count}"
                problems.append(_split_problem(finding.file.path, "INDEX_STALE", expected, found))
    return problems + [problem for stem, parts in sets.items() for problem in _judge_parts(stem, parts)]


def _judge_parts(stem: str, parts: Sequence[Finding]) -> list[Problem]:
    splits = [part.split for part in parts if part.split]
    count, there = max(split.count for split in splits), {split.number for split in splits}
    missing = [f"{stem}-{number + 1:05}-of-{count:05}.gguf" for number in range(count) if number not in there]
    if missing:
        return [_split_problem(name, "MISSING", f"all {count} parts", "not in the manifest, or not readable") for name in missing]
    expected, found = max(split.tensors for split in splits), sum(len(part.header.tensors) for part in parts if part.header)
    return [_split_problem(parts[0].file.path, "TENSOR_MISSING", f"{expected} tensors", str(found))] if expected not in (0, found) else []


def _split_problem(file: str, code: ProblemCode, expected: str, found: str) -> Problem:
    return Problem(
        file=file, code=code, expected=expected, found=found, remedy="take all parts of one upload (model.include of the recipe)"
    )


def _judge_presence(manifest: Manifest) -> list[Problem]:
    """An empty proof proves nothing: a manifest must name weights."""
    if any(is_weights(file.path) for file in manifest.files):
        return []
    remedy = "look at model.include and model.exclude of the recipe"
    return [Problem(file="*", code="MISSING", expected="at least one weights file in the manifest", found="none", remedy=remedy)]


def _names(folder: WeightsFolder, manifest: Manifest) -> list[str]:
    """The manifest's files; a record of local weights names these alone, so there what lies beside them counts."""
    is_local = manifest.commit == NO_COMMIT and folder.root.is_dir()
    return [*(file.path for file in manifest.files), *((path.name for path in folder.root.iterdir()) if is_local else ())]


def _judge_company(names: Sequence[str]) -> list[Problem]:
    """What an engine reads with the weights: without a config it starts from nothing; without a tokenizer only where it is told to."""
    problems = []
    if lacks_config(names):
        remedy = "take it in (model.include of the recipe), or take another revision: no engine reads these weights without it"
        problems.append(Problem(file="config.json", code="MISSING", expected="config.json beside the weights", found="none", remedy=remedy))
    if lacks_tokenizer(names):
        expected, remedy = "tokenizer.json or another known form", "none where the engine is told to go without (skip-tokenizer-init)"
        problems.append(Problem(file="*", code="NO_TOKENIZER", expected=expected, found="none", remedy=remedy))
    return problems


def _judge_extra(folder: WeightsFolder, manifest: Manifest) -> list[Problem]:
    known = {file.path for file in manifest.files}
    try:
        there = sorted(entry.name for entry in os.scandir(folder.root) if is_weights(entry.name) and entry.is_file())
    except OSError:
        return []
    remedy = "move it elsewhere, an engine may load it beside the others; no manifest names it: it may exist nowhere else"
    return [
        Problem(file=name, code="EXTRA_WEIGHTS", expected="no weights beside the manifest's", found=name, remedy=remedy)
        for name in there
        if name not in known
    ]


def _judge_partials(folder: WeightsFolder) -> list[Problem]:
    """Our own downloads that did not end, and those of the Hub's library."""
    places = (folder.root / OWN / "partial", folder.root / ".cache" / "huggingface" / "download")
    ends = (".part", ".rejected", ".incomplete")
    left = sorted(Path(parent, name) for place in places for parent, _, names in walk(place) for name in names if name.endswith(ends))
    return [
        Problem(
            file=path.relative_to(folder.root).as_posix(),
            code="PARTIAL_LEFT",
            expected="no partial download",
            found=f"{path.stat().st_size} bytes",
            remedy="fetch again to end it, or remove it",
        )
        for path in left
    ]
