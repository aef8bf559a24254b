"""Hash one file by mapping it, as a process of its own: where a page of it cannot be had, SIGBUS ends this process and no other.

`python mapped.py [git] < FILE` writes how many bytes are hashed so far, a line for every piece, and at the end `=`, sha256 and, if asked for,
git's blob id. It ends without them when the file cannot be mapped. Standard library only.
"""

import hashlib
import mmap
import os
import sys

PIECE_BYTES = 8 << 20
AHEAD_BYTES = 64 << 20
"""How far ahead of the hash the disk is asked to read, piece by piece, so that it never waits for a hash to end."""


def main(*, wants_git: bool) -> None:
    """Every byte of standard input's file, from the page cache without a copy."""
    size = os.fstat(0).st_size
    digests = [hashlib.sha256()]
    if wants_git:
        digests.append(hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False))
    with mmap.mmap(0, size, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
        mapped.madvise(mmap.MADV_SEQUENTIAL)
        os.posix_fadvise(0, 0, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
        for start in range(0, size, PIECE_BYTES):
            os.posix_fadvise(0, start + AHEAD_BYTES, PIECE_BYTES, os.POSIX_FADV_WILLNEED)
            with view[start : start + PIECE_BYTES] as piece:
                for digest in digests:
                    digest.update(piece)
            print(min(size, start + PIECE_BYTES), flush=True)
    print("=", *(digest.hexdigest() for digest in digests), flush=True)


if __name__ == "__main__":
    main(wants_git="git" in sys.argv[1:])
