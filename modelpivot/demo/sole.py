"""One demo a folder at a time: a lock that the kernel lets go of when the command ends, however it ends.

.demo/demo.lock     held (flock) by the command; names its process
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from modelpivot.demo.places import DemoPlaces
from modelpivot.errors import HostHeld
from modelpivot.host import is_alive, own_process_id
from modelpivot.models.cutover import ProcessId


@contextmanager
def sole_demo(places: DemoPlaces) -> Iterator[None]:
    """Hold the demo's folder. HostHeld says which process does."""
    handle = os.open(places.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = read_demo_process(places)
            raise HostHeld(
                f"another demo (process {holder.pid if holder else 'unknown'}) runs in {places.root}",
                hint="wait for it, end it with `modelpivot demo --stop`, or name another folder in MODELPIVOT_DEMO_DIR",
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, own_process_id().model_dump_json().encode())
        yield
    finally:
        os.close(handle)


def read_demo_process(places: DemoPlaces) -> ProcessId | None:
    """The living process of the demo in this folder; None: no demo runs."""
    try:
        process = ProcessId.model_validate_json(places.lock.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return process if is_alive(process) else None
