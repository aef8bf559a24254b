"""Facts as a person reads them in a terminal."""

from collections.abc import Iterator

from rich.console import Console

from modelpivot.cli.output import table
from modelpivot.models.facts import Disk, Facts, Gpu, Gpus, HostFacts, HubCache
from modelpivot.models.frozen import Unread
from modelpivot.models.size import say_bytes
from modelpivot.plans.about import about_model

Rows = Iterator[tuple[str, str]]


def show_facts(console: Console, facts: HostFacts) -> None:
    """The host on one screen."""
    rows = table("fact", "value")
    for part in (_serving(facts), _gpus(facts), _disks(facts), _software(facts), _stored(facts)):
        for name, value in part:
            rows.add_row(name, value)
    console.print(rows)


def show_model(console: Console, facts: Facts) -> None:
    """The model and the engine of a recipe, below the host."""
    rows = table("model", "value")
    for name, value in about_model(facts).items():
        rows.add_row(name, value)
    for name, unread in {"files": facts.model.manifest, "config.json": facts.model.config, "weights": facts.model.weights}.items():
        if isinstance(unread, Unread):
            rows.add_row(name, str(unread))
    console.print(rows)


def _serving(facts: HostFacts) -> Rows:
    if facts.state:
        yield "serves", str(facts.state)
        return
    yield "serves", facts.current.id if facts.current else "nothing by us"
    yield "answers", str(facts.current_answers)
    if facts.cutover:
        yield "open switch", f"to {facts.cutover.to_release}: {facts.cutover.phase}"


def _gpus(facts: HostFacts) -> Rows:
    if isinstance(facts.gpus, Unread):
        yield "GPUs", str(facts.gpus)
        return
    if not facts.gpus.gpus:
        yield "GPUs", "none"
    for gpu in facts.gpus.gpus:
        yield f"GPU {gpu.index}", _gpu(gpu)
    yield from _holders(facts.gpus)
    if first := next(iter(facts.gpus.gpus), None):
        yield "driver", f"{first.driver}, CUDA {first.cuda}"
        yield "links", _links(facts)
        yield "Xid errors", str(facts.xids) if isinstance(facts.xids, Unread) else f"{len(facts.xids)} since boot"


def _gpu(gpu: Gpu) -> str:
    mig = ", MIG on" if gpu.mig == "Enabled" else ""
    return f"{gpu.name}, compute capability {gpu.compute_capability}, {_bytes(gpu.used_bytes)} of {_bytes(gpu.total_bytes)} used{mig}"


def _holders(gpus: Gpus) -> Rows:
    for pid in dict.fromkeys(process.pid for process in gpus.processes):
        on = [process for process in gpus.processes if process.pid == pid]
        who = " ".join(filter(None, (f"user {on[0].user}" if on[0].user else "", f"unit {on[0].unit}" if on[0].unit else "")))
        sizes = [process.used_bytes for process in on if isinstance(process.used_bytes, int)]
        yield f"process {pid}", f"{on[0].name} with {say_bytes(sum(sizes))}" + (f", {who}" if who else "")


def _links(facts: HostFacts) -> str:
    if isinstance(facts.links, Unread):
        return str(facts.links)
    levels = sorted({link.level for link in facts.links})
    return ", ".join(levels) or "one GPU"


def _disks(facts: HostFacts) -> Rows:
    for disk in facts.disks:
        if not isinstance(disk, Disk):
            yield "disk", str(disk)
            continue
        flags = [
            word for word, is_so in (("read-only", disk.is_read_only), ("noexec", disk.is_noexec), ("network", disk.is_network)) if is_so
        ]
        tail = f" ({', '.join([disk.kind, *flags])})"
        yield f"disk {disk.path}", f"{say_bytes(disk.free_bytes)} free of {say_bytes(disk.total_bytes)} on {disk.mount}{tail}"
    yield "memory", _bytes(facts.memory_bytes)


def _software(facts: HostFacts) -> Rows:
    for name, tool in facts.tools.items():
        yield name, str(tool) if isinstance(tool, Unread) else f"{tool.path} {tool.version}"
    if not isinstance(facts.toolchain, Unread):
        toolkits = ", ".join(facts.toolchain.cuda_toolkits.values()) or "none"
        yield "toolchain", f"glibc {facts.toolchain.glibc}, CUDA toolkits {toolkits}, kernel {facts.toolchain.kernel}"
    if isinstance(facts.environments, Unread):
        yield "environments", str(facts.environments)
    for packages in [] if isinstance(facts.environments, Unread) else facts.environments:
        engine = f"{packages.engine} {packages.versions.get(packages.engine, '')}" if packages.engine else "no vLLM"
        torch = f", torch {packages.versions['torch']}" if "torch" in packages.versions else ""
        yield (
            f"environment {packages.path.name}",
            f"{engine}{torch}, Python {packages.python}" + (" (serves)" if packages.is_current else ""),
        )


def _stored(facts: HostFacts) -> Rows:
    if isinstance(facts.stored, Unread):
        yield "weights", str(facts.stored)
    for stored in [] if isinstance(facts.stored, Unread) else facts.stored:
        used = f", used by {', '.join(stored.used_by)}" if stored.used_by else ""
        yield f"weights {stored.path.parent.name}/{stored.path.name[:12]}", f"{say_bytes(stored.size_bytes)}, {stored.state}{used}"
    cache = facts.hub_cache
    if isinstance(cache, Unread):
        yield "Hub cache", str(cache)
    if isinstance(cache, HubCache):
        yield (
            "Hub cache",
            f"{say_bytes(cache.size_bytes)} at {cache.path}, {say_bytes(cache.unreferenced_bytes)} of it referenced by nothing",
        )


def _bytes(count: int | Unread) -> str:
    return str(count) if isinstance(count, Unread) else say_bytes(count)
