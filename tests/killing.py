"""Work killed at its n-th call that changes something on disk: SIGKILL, in a child, at every place that there is."""

import os
import signal
import sys
from collections.abc import Callable

CHANGES = ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "shutil.rmtree", "ctypes.call_function")


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do the work in a child that SIGKILLs itself before its n-th such call. Whether it was killed; False: it came to its end."""
    child = os.fork()
    if child == 0:
        left = [step]

        def count(event: str, _: object) -> None:
            if event in CHANGES:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
