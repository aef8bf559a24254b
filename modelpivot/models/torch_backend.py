"""uv's `--torch-backend` as a recipe, engines.yaml or a command line may state it. Which of a form exist is uv's to know: newer ones know more."""

import re
from typing import Annotated

from pydantic import AfterValidator

FORM = re.compile(r"driver|auto|cpu|xpu|cu\d{2,3}|rocm\d+(\.\d+){1,2}")


def _check(value: str) -> str:
    if not FORM.fullmatch(value):
        raise ValueError("expected cu128 or another CUDA, cpu, rocm6.4 or another ROCm, xpu, auto, or driver (what this host's offers)")
    return value


TorchBackend = Annotated[str, AfterValidator(_check)]
