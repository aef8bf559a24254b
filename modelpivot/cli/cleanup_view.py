"""A clean slate as a person reads it in a terminal: GPUs, disk, old weights, cache, in this order."""

from rich.console import Console
from rich.text import Text

from modelpivot.cli.output import table
from modelpivot.cli.reclaim_view import show_reclaimed, show_room
from modelpivot.models.cleanup import Cleaned, CleanupPlan
from modelpivot.models.counted import counted
from modelpivot.models.facts import Disk, Gpus, HubCache
from modelpivot.models.frozen import Unread
from modelpivot.models.size import say_bytes


def show_cleanup(console: Console, made: CleanupPlan) -> None:
    """The whole plan."""
    for blocker in made.blockers:
        console.print(Text(f"✗ {blocker.code}  {blocker}", "bold red"))
    for warning in made.warnings:
        console.print(Text(f"! {warning}", "yellow"))
    if made.serving:
        rows = table("serves", "", "stops")
        for each in made.serving:
            rows.add_row(Text(each.name, overflow="fold"), Text(each.found), "yes, by name" if each.is_to_stop else "no")
        console.print(rows)
    else:
        console.print("Nothing serves.")
    console.print(Text(f"GPUs         {say_gpus(made.gpus)}"))
    for line in made.busy:
        console.print(Text(f"  then still busy: {line}", "yellow"))
    _show_disks(console, made.disks)
    console.print(Text(f"Hub cache    {say_cache(made.hub_cache)}"))
    console.print()
    show_room(console, made.reclaim)


def show_cleaned(console: Console, done: Cleaned) -> None:
    """What was done, and what is left."""
    for name in done.stopped:
        console.print(Text(f"✓ {name} is stopped and starts at no boot", "green"))
    for obstacle in done.obstacles:
        console.print(Text(f"✗ {obstacle}", "red"))
    if not done.obstacles:
        console.print(Text("✓ GPUs and ports are free", "green"))
    console.print(Text(f"GPUs         {say_gpus(done.gpus)}"))
    _show_disks(console, done.disks)
    console.print(Text(f"Hub cache    {say_cache(done.hub_cache)}"))
    if done.reclaimed is not None:
        show_reclaimed(console, done.reclaimed)
    if done.again:
        console.print(f"Nothing serves now, as it was asked for; {done.again} starts it again.")


def say_gpus(gpus: Gpus | Unread) -> str:
    """`8 GPUs: 93783 MiB in use on each`."""
    if isinstance(gpus, Unread):
        return str(gpus)
    if not gpus.gpus:
        return "none"
    used = [str(gpu.used_bytes) if isinstance(gpu.used_bytes, Unread) else f"{gpu.used_bytes / 2**20:.0f} MiB" for gpu in gpus.gpus]
    each = f"{used[0]} in use on each" if len(set(used)) == 1 else f"in use: {', '.join(used)}"
    return f"{counted(len(used), 'GPU')}: {each}"


def say_cache(cache: HubCache | Unread | None) -> str:
    """What it takes, and what of it nothing references."""
    if cache is None:
        return "there is none"
    if isinstance(cache, Unread):
        return str(cache)
    rest = (
        f"{say_bytes(cache.unreferenced_bytes)} of it nothing references"
        if cache.unreferenced_bytes
        else "all of it is referenced: left alone"
    )
    return f"{cache.path}: {say_bytes(cache.size_bytes)}, {rest}"


def _show_disks(console: Console, disks: "list[Disk | Unread]") -> None:
    seen = {disk.device: disk for disk in disks if isinstance(disk, Disk)}
    for disk in seen.values():
        console.print(Text(f"disk         {disk.mount}: {say_bytes(disk.free_bytes)} of {say_bytes(disk.total_bytes)} free"))
    for unread in [each for each in disks if isinstance(each, Unread)]:
        console.print(Text(f"disk         {unread}", "yellow"))
