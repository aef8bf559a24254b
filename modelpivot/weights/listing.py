"""What the Hub says of a repository at a revision: its commit, its files with sizes and digests, who may read them. One GET, by the way the files come.

huggingface_hub asks the same question; importing it costs more CPU (0.3 s) than everything else a fetch does before its first byte.

    GET /api/models/<repo>/revision/<revision>?blobs=true
    {"sha": "4d7e...", "gated": false, "private": false,
     "siblings": [{"rfilename": "config.json", "size": 702, "blobId": "9f1c..."},
                  {"rfilename": "model.safetensors", "size": 9126805504, "blobId": "...", "lfs": {"sha256": "...", "size": 9126805504}}]}
"""

from dataclasses import dataclass
from urllib.parse import quote

from pydantic_core import from_json

from modelpivot.errors import TransientError
from modelpivot.weights.answers import REMEDIES
from modelpivot.weights.body import discard, passing_errors
from modelpivot.weights.transport import HubWay


@dataclass(frozen=True)
class Listed:
    """One file. `sha256` of a large one, `blob_id` as git names what it holds."""

    path: str
    size: int | None
    sha256: str | None
    blob_id: str | None


@dataclass(frozen=True)
class Listing:
    """A repository at one commit."""

    commit: str
    files: tuple[Listed, ...]
    is_gated: bool = False
    is_private: bool = False


def read_listing(endpoint: str, repo: str, revision: str, *, token: str | None, timeout_s: float) -> Listing:
    """Ask the Hub once. TransientError passes (an answer that makes no sense too); Refused does not."""
    what = f"{repo}@{revision} from {endpoint}"
    way = HubWay(endpoint, token=token, connections=1, stall_s=timeout_s)
    url = f"{way.address}/api/models/{repo}/revision/{quote(revision, safe='')}?blobs=true"
    response = way.follow(url, what=what)
    try:
        with passing_errors(what, "the way"):
            content = response.read(decode_content=True)
    finally:
        discard(response)
        way.renew()
    return parse_listing(content, what=what)


def parse_listing(content: bytes, *, what: str) -> Listing:
    """The listing from the Hub's JSON. TransientError when it is none: a page of something on the way, or an answer cut short."""
    try:
        document = from_json(content)
        files = tuple(_parse_file(entry) for entry in document["siblings"])
        return Listing(str(document["sha"]), files, bool(document.get("gated")), bool(document.get("private")))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        found = content[:80].decode(errors="replace")
        raise TransientError(f"{what}: expected a commit and its files, found {found!r}", hint=REMEDIES["unreachable"]) from error


def _parse_file(entry: dict[str, object]) -> Listed:
    large, size, blob_id = entry.get("lfs"), entry.get("size"), entry.get("blobId")
    sha256 = large["sha256"] if isinstance(large, dict) else None
    return Listed(str(entry["rfilename"]), size if isinstance(size, int) else None, sha256, blob_id if isinstance(blob_id, str) else None)
