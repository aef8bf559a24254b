"""A file that has its name but no receipt: a kill came between the two, or another tool put it there. It is hashed before it counts."""

import os

from modelpivot.models.manifest import Receipt
from modelpivot.weights.hashing import hash_whole
from modelpivot.weights.job import Progress, Work
from modelpivot.weights.partial import disk_errors, expected_digest
from modelpivot.weights.receipts import make_receipt


def adopt_named(work: Work, progress: Progress) -> Receipt | None:
    """Its receipt when it is the manifest's file; None when there is none of this name. A wrong one is set aside."""
    file, target = progress.file, work.folder.file(progress.file.path)
    if not os.path.lexists(target):
        return None
    if target.is_file() and target.stat().st_size == file.size:
        progress.state = "reading again"
        with disk_errors(target):
            digests = hash_whole(target, wants_git=file.sha256 is None, stop=work.stop)
        if digests is None:
            return None
        if expected_digest(file) == (digests.sha256 if file.sha256 else digests.git_oid):
            progress.done, progress.state = file.size, "done"
            return make_receipt(file.path, digests.stat, sha256=digests.sha256, git_oid=digests.git_oid)
    with disk_errors(target):
        target.rename(work.folder.partial(file.path, expected_digest(file)).with_suffix(".rejected"))
    work.note(f"{file.path}: the file that lay there is not the manifest's; set aside, fetched again")
    return None
