"""Room beside what serves, on recorded and made hosts: which GPUs are free, how much memory, which port."""

import pytest

from modelpivot.models.facts import GpuProcess, Gpus, Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.recipe import Recipe
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.spare import free_gpus, place_beside, spare_blockers, spare_port
from modelpivot.recipes import read_recipe
from tests.plans.samples import CPU, CUDA, HOST, MIB, brief_facts, gpus, small_facts
from tests.recorded import facts_of

KIMI, DEMO = read_recipe("kimi-k2.5-nvfp4"), read_recipe("demo")


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("pro6000-serving", []),
        ("h200-measured-serving", []),
        ("h200-measured", [0]),
        ("pro6000-clean", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("pro6000-stranger", [0, 1, 2, 4, 5, 6, 7]),
        ("pro6000-mig", [1, 2, 3, 4, 5, 6, 7]),
        ("no-gpu", []),
    ],
)
def test_of_a_recorded_host_only_whole_and_empty_gpus_are_free(name: str, free: list[int]) -> None:
    """Not those of what serves, though they are ours; not one that somebody else holds; not one that is split."""
    assert [gpu.index for gpu in free_gpus(facts_of(name))] == free


def test_what_is_not_known_is_not_free() -> None:
    """Memory that the driver does not tell, and a process whose share it does not tell."""
    card = gpus(1, used_mib=0).gpus[0]
    unread = card.model_copy(update={"used_bytes": Unread(unread="[N/A]")})
    holder = GpuProcess(gpu_uuid=card.uuid, pid=9, name="python", used_bytes=Unread(unread="[N/A]"))
    assert not free_gpus(brief_facts(gpus=Gpus(gpus=[unread])))
    assert not free_gpus(brief_facts(gpus=Gpus(gpus=[card], processes=[holder])))


def test_the_free_gpus_reach_the_engine_and_nothing_else_is_in_its_way() -> None:
    """The whole plan beside what serves: the release starts on the free cards alone; without the placing it would have taken those in use."""
    facts, four = brief_facts(gpus=half_free()), with_gpus(4)
    beside, in_place = (plan_pivot(recipe, HOST, facts, CUDA).candidate for recipe in (place_beside(four, CUDA, facts), four))
    assert beside and in_place
    assert (beside.start.environment["CUDA_VISIBLE_DEVICES"], beside.start.environment["CUDA_DEVICE_ORDER"]) == ("4,5,6,7", "PCI_BUS_ID")
    assert "CUDA_VISIBLE_DEVICES" not in in_place.start.environment


def half_free() -> Gpus:
    """Four cards held, four free."""
    held, free = gpus(4), gpus(8, used_mib=0)
    return Gpus(gpus=[*held.gpus, *free.gpus[4:]], processes=held.processes)


def test_beside_what_serves_only_free_gpus_are_taken() -> None:
    """Four of eight are free: a model of four goes onto these, one of eight is refused with the count, the production's own are no way out."""
    facts, four = brief_facts(gpus=half_free()), with_gpus(4)
    assert place_beside(four, CUDA, facts).serve.env["CUDA_VISIBLE_DEVICES"] == "4,5,6,7"
    assert spare_blockers(four, CUDA, facts, has_weights=True) == []
    (blocker,) = spare_blockers(with_gpus(8), CUDA, facts, has_weights=True)
    assert (blocker.code, blocker.found) == ("NO_SPARE_GPUS", "4 of 8 free")


def with_gpus(count: int) -> Recipe:
    """The brief's recipe on so many GPUs."""
    args = {**KIMI.serve.args, "tensor-parallel-size": count}
    return KIMI.model_copy(update={"serve": KIMI.serve.model_copy(update={"gpus": count, "args": args})})


def test_a_gpu_with_a_small_stranger_is_not_taken_for_a_full_one() -> None:
    """A monitor that holds some hundred MB leaves it free."""
    cards = gpus(1, used_mib=0)
    monitored = Gpus(
        gpus=[cards.gpus[0].model_copy(update={"used_bytes": 600 * MIB})],
        processes=[GpuProcess(gpu_uuid="GPU-0", pid=9, name="dcgm", used_bytes=500 * MIB)],
    )
    assert spare_blockers(with_gpus(1), CUDA, brief_facts(gpus=monitored), has_weights=True) == []


@pytest.mark.parametrize(
    ("available", "codes"), [(32 * 2**30, []), (3 * 2**30, ["NO_SPARE_MEMORY"]), (Unread(unread="gone"), ["NO_SPARE_MEMORY"])]
)
def test_on_the_processors_memory_is_what_must_be_free(available: int | Unread, codes: list[str]) -> None:
    """Engine, cache and weights; not known is not enough."""
    facts = small_facts(DEMO, memory_bytes=available)
    assert [one.code for one in spare_blockers(DEMO, CPU, facts, has_weights=True)] == codes


def test_the_port_beside_is_one_that_nobody_has() -> None:
    """The first free one behind the service's own."""
    listeners = [Listener(port=port, address="127.0.0.1", pid=1) for port in (8000, 8001, 8002)]
    assert spare_port(KIMI, HOST, brief_facts(listeners=listeners)) == 8003
