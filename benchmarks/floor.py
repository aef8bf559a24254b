"""The least that a client can do with a repository's shards, in the plainest loop: receive, write, hash. No resume, no receipts, no proof.

`python floor.py ENDPOINT/REPO DIRECTORY SHARDS`. Standard library only; four files at once, each through one small buffer.
"""

import hashlib
import os
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUFFER_BYTES = 256 << 10


def receive(url: str, path: Path) -> str:
    """One file; its sha256."""
    buffer, digest = memoryview(bytearray(BUFFER_BYTES)), hashlib.sha256()
    with urllib.request.urlopen(url) as answer, path.open("wb", buffering=0) as file:
        while count := answer.fp.readinto(buffer):
            file.write(buffer[:count])
            digest.update(buffer[:count])
        os.fsync(file.fileno())
    return digest.hexdigest()


def main(repo: str, directory: Path, shards: int) -> None:
    """All of them."""
    directory.mkdir()
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    with ThreadPoolExecutor(4) as pool:
        print(*pool.map(lambda name: receive(f"{repo}/resolve/main/{name}", directory / name), names), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
