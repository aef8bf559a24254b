"""CUDA as drivers offer it and wheels ask for it."""

import pytest

from modelpivot.facts.lock import parse_pins
from modelpivot.models.cuda import backend_for, driver_cuda, is_cpu_build, parse_cuda, wanted_cuda


@pytest.mark.parametrize(
    ("driver", "cuda", "backend"),
    [
        ("590.48.01", (13, 1), "cu130"),
        ("580.95.05", (13, 0), "cu130"),
        ("580.65.06", (13, 0), "cu130"),
        ("580.40", (12, 9), "cu129"),
        ("575.57.08", (12, 9), "cu129"),
        ("570.133.20", (12, 8), "cu128"),
        ("565.57.01", (12, 7), "cu126"),
        ("550.54.15", (12, 4), "cu118"),
        ("535.161.08", (12, 0), "cu118"),
        ("470.82.01", (11, 0), None),
        ("390.157", None, None),
        ("[N/A]", None, None),
        ("", None, None),
    ],
)
def test_a_driver_offers_one_newest_cuda(driver: str, cuda: tuple[int, int] | None, backend: str | None) -> None:
    """As its release notes say; the backend is the newest published for it or older, and none where there is none."""
    assert driver_cuda(driver) == cuda
    assert (backend_for(cuda) if cuda else None) == backend


@pytest.mark.parametrize(
    ("lock", "cuda"),
    [
        ("torch==2.9.1+cu129", (12, 9)),
        ("torch==2.9.1+git1a2b.cu130", (13, 0)),
        ("torch==2.9.1\nnvidia-cuda-runtime-cu12==12.8.90", (12, 8)),
        ("torch==2.11.0\nnvidia-cuda-runtime==13.0.96", (13, 0)),
        ("torch==2.9.1+cpu", None),
        ("numpy==2.0", None),
    ],
)
def test_a_resolution_is_built_for_one_cuda(lock: str, cuda: tuple[int, int] | None) -> None:
    """torch's own mark, else the runtime that comes along."""
    assert wanted_cuda(parse_pins(lock)) == cuda


def test_the_cpu_build_is_known() -> None:
    """By torch's mark alone."""
    assert is_cpu_build(parse_pins("torch==2.13.0+cpu"))
    assert not is_cpu_build(parse_pins("torch==2.13.0\nother==1+cpu"))


def test_what_is_no_version_is_none() -> None:
    """A fact that was not read has no CUDA."""
    assert parse_cuda("unread (not asked)") is None
    assert parse_cuda("13.1") == (13, 1)
