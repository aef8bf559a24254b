"""Runs inside a sandbox and calls what it is told: pickled (function, arguments) in on standard input, (ok, result or error) out on standard output."""

import os
import pickle
import struct
import sys
from typing import IO, Any

LENGTH = struct.Struct("<Q")


def write_frame(stream: IO[bytes], content: object) -> None:
    """One pickle behind its length in bytes."""
    body = pickle.dumps(content)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Any:
    """The next object; EOFError when the other side is gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError("the other side is gone")
    body = stream.read(LENGTH.unpack(head)[0])
    return pickle.loads(body)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Carry out calls until the other side is gone."""
    while True:
        try:
            function, args, kwargs = read_frame(requests)
        except EOFError:
            return
        try:
            answer = (True, function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 whatever it is belongs to the caller
            answer = (False, error)
        write_frame(answers, answer)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
