"""The shard table as a data frame: one row a file, in columns that the suite in deployments/expectations/shards.yaml speaks of.

path             name in the repository
is_weights       1: tensors are in it; 0: none are
expected_size, found_size        bytes; null: not stated, not there
expected_digest, found_digest    hex; null: not stated, not proved
digest_kind      sha256 or git_oid
tensors          in the header; null: no weights file, or unreadable
dtypes           of the tensors
hashed_now       1: hashed in this run; 0: its receipt still held
problems         codes, comma separated; `none` where there are none, so that an empty column never passes for a good one
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from modelpivot.models.manifest import ShardRow

NUMBERS = ("is_weights", "tensors", "hashed_now")


def shard_frame(table: Sequence[ShardRow]) -> pd.DataFrame:
    """The table; an empty one keeps its columns. Sizes stay Python's numbers: compared with a null they are unequal, where pandas' own are unknown."""
    rows = [row.model_dump() | {"problems": row.problems or "none"} for row in table]
    frame = pd.DataFrame(rows, columns=list(ShardRow.model_fields), dtype="object")
    types: dict[str, Any] = {name: "Int64" if name in NUMBERS else "object" for name in ShardRow.model_fields}
    return frame.astype(types)
