#!/usr/bin/env python3
"""A stand-in for the engine's benchmark client, and called one: put in place of an environment's Python, it writes the result that the real
client would, at the speed that stands in the file SPEED beside it. Standard library only."""

import json
import sys
from itertools import pairwise
from pathlib import Path


def main() -> None:
    """Read the flags of `vllm bench serve`, write its result."""
    words = sys.argv[1:]
    told = dict(pairwise(words))
    prompts, tokens = int(told["--num-prompts"]), int(told["--random-output-len"])
    speed = float((Path(__file__).with_name("SPEED")).read_text())
    result = {
        "num_prompts": prompts,
        "completed": prompts,
        "duration": prompts * tokens / speed,
        "max_concurrency": int(told["--max-concurrency"]),
        "total_output_tokens": prompts * tokens,
        "output_throughput": speed,
        "request_throughput": speed / tokens,
        "median_ttft_ms": 6000 / speed,
        "median_tpot_ms": 1000 / speed,
        "ttfts": [6 / speed] * prompts,
        "output_lens": [tokens] * prompts,
        "errors": [""] * prompts,
        "seed": int(told["--seed"]),
    }
    (Path(told["--result-dir"]) / told["--result-filename"]).write_text(json.dumps(result))


main()
