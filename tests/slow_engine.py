"""The real engine, made slower on purpose: after every step it rests, so that a step takes SLOWER times as long (MODELPIVOT_TEST_SLOWER, 1.11).

Run by the engine's own Python in place of `-m vllm.entrypoints.openai.api_server`. The engine's core may be a process of its own that imports
this file again, so the change is made on import.
"""

import os
import runpy
import time
from typing import Any

from vllm.v1.engine.core import EngineCore  # type: ignore[import-not-found]

SLOWER = float(os.environ["MODELPIVOT_TEST_SLOWER"])


def slow(step: Any) -> Any:
    """The same step, and a rest after it that lasts the rest of SLOWER times its own length."""

    def slowed(self: Any) -> Any:
        began = time.perf_counter()
        answer = step(self)
        if answer[1]:
            until = began + SLOWER * (time.perf_counter() - began)
            while time.perf_counter() < until:  # sleeping takes longer than it is told to, by as much as a step of a small model
                pass
        return answer

    return slowed


EngineCore.step = slow(EngineCore.step)
EngineCore.step_with_batch_queue = slow(EngineCore.step_with_batch_queue)

if __name__ == "__main__":
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
