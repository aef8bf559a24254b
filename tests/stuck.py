"""A process that does not go after SIGKILL, as one in an uninterruptible call: a tracer keeps it from being waited for."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TRACER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0, ctypes.get_errno()  # PTRACE_SEIZE
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held_in_the_kernel(pid: int) -> Iterator[None]:
    """However it is killed, nobody sees its end inside."""
    argv = [sys.executable, "-I", "-S", "-c", TRACER, str(pid)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout is not None
        assert tracer.stdout.readline() == b"held\n"
        yield
        tracer.communicate(b"\n")
