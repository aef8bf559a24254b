"""The shard table as a data frame: one row a file, in the columns that the suite in deployments/expectations/shards.yaml speaks of.

path             name in the repository
is_weights       1: tensors are in it; 0: none are
is_patched       1: changed on purpose, as its record says; 0: as fetched
expected_size, found_size        bytes; null: not stated, not there
expected_digest, found_digest    hex; null: not stated, not proved
digest_kind      sha256 or git_oid
header           read, empty (no tensor), unread; `not needed` for files that are no safetensors
config           of weights as transformers names them: there, missing; `not needed` for other files
tensors, dtypes  in the header; null: no header
hashed_now       1: hashed in this run; 0: its receipt still held
problems         codes, comma separated; `none` where there are none, so that an empty column never passes for a good one
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from modelpivot.models.manifest import ShardRow
from modelpivot.models.model_files import lacks_config, needs_config

COLUMNS = [*ShardRow.model_fields, "is_patched", "header", "config"]
NUMBERS = ("is_weights", "is_patched", "tensors", "hashed_now")


def shard_frame(rows: Sequence[ShardRow]) -> pd.DataFrame:
    """The rows; none keep their columns. Sizes stay Python's numbers: compared with a null they are unequal, where pandas' own are unknown."""
    has_config = not lacks_config(row.path for row in rows if row.found_size is not None)
    frame = pd.DataFrame([_cells(row, has_config=has_config) for row in rows], columns=COLUMNS, dtype="object")
    types: dict[str, Any] = {name: "Int64" if name in NUMBERS else "object" for name in COLUMNS}
    return frame.astype(types)


def _cells(row: ShardRow, *, has_config: bool) -> dict[str, object]:
    config = "not needed" if not needs_config(row.path) else "there" if has_config else "missing"
    made = {"problems": row.problems or "none", "is_patched": "PATCHED" in row.problems.split(","), "header": _header_word(row)}
    return row.model_dump() | made | {"config": config}


def _header_word(row: ShardRow) -> str:
    if not row.path.endswith(".safetensors"):
        return "not needed"
    return "unread" if row.tensors is None else "read" if row.tensors else "empty"
