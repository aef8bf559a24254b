"""The questions that a mirror answers: the Hub's (info, tree, paths-info, resolve) and the store's (a signed link)."""

import json
import re
from urllib.parse import parse_qs, quote, unquote, urlsplit

from modelpivot.mirror.catalog import Entry, Repo
from modelpivot.mirror.faults import STATUS_HEADERS, Fault
from modelpivot.mirror.sending import Sender, reset
from modelpivot.mirror.server import Handler

INFO = re.compile(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?")
TREE = re.compile(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?")
PATHS = re.compile(r"/api/models/([^/]+/[^/]+)/paths-info/([^/]+)")
CACHE = re.compile(r"/api/resolve-cache/models/([^/]+/[^/]+)/([^/]+)/(.+)")
RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class Refusal(Exception):
    """Answer with this word of STATUS_HEADERS."""


class HubHandler(Handler):
    """The Hub itself."""

    def _answer(self) -> None:
        url = urlsplit(self.path)
        try:
            if url.path == "/-/served":
                self._send_json(self.mirror.served.bytes_by_file())
            elif match := CACHE.fullmatch(url.path):
                self._send_small(*map(unquote, match.groups()))
            elif match := RESOLVE.fullmatch(url.path):
                self._resolve(*map(unquote, match.groups()))
            else:
                self._answer_api(url.path, url.query)
        except Refusal as refusal:
            self._refuse(str(refusal))

    do_GET = do_HEAD = do_POST = _answer  # noqa: N815 (names that http.server looks for)

    def _answer_api(self, path: str, query: str) -> None:
        self._note("api", path)
        if self._strike("api", path):
            return
        if match := TREE.fullmatch(path):
            self._send_tree(self._find(unquote(match[1]), unquote(match[2])), unquote(match[3] or ""), parse_qs(query))
        elif match := PATHS.fullmatch(path):
            self._send_paths(self._find(unquote(match[1]), unquote(match[2])))
        elif match := INFO.fullmatch(path):
            self._send_info(self._find(unquote(match[1]), unquote(match[2] or "main")), is_full="blobs" in parse_qs(query))
        else:
            raise Refusal("no_repo")

    def _note(self, place: str, path: str) -> None:
        self.note = self.record(place, path)

    def _strike(self, place: str, path: str) -> Fault | None:
        """Answer with a fault of this place if one is on that takes the whole answer; others are for the caller to act on."""
        fault = self.mirror.faults.take(place, path)  # type: ignore[arg-type]
        if fault is None or fault.kind in ("expired_link", "dead_link", "wrong_commit"):
            self.fault = fault
            return None
        if fault.kind == "status":
            self._send_json({"error": fault.headers.get("X-Error-Message", "fault")}, fault.status, fault.headers)
        elif fault.kind == "error_page":
            self._send_json({"error": "Internal error, try again"}, 200, {})
        elif fault.kind == "reset":
            reset(self.connection)
        else:
            self.mirror.over.wait(fault.seconds)
        self.close_connection = fault.kind != "status"
        return fault

    def _find(self, name: str, revision: str) -> Repo:
        repos = self.mirror.catalog.repos(name)
        if not repos:
            raise Refusal("no_repo")
        if (token := self.mirror.gates.get(name)) is not None:
            self._check_token(token)
        for repo in repos:
            if revision in ("main", repo.commit):
                return repo
        raise Refusal("no_revision")

    def _check_token(self, token: str) -> None:
        given = self.headers.get("Authorization")
        if given is None:
            raise Refusal("no_credentials")
        if given != f"Bearer {token}":
            raise Refusal("bad_credentials")

    def _send_info(self, repo: Repo, *, is_full: bool) -> None:
        siblings = [_sibling(entry) if is_full else {"rfilename": entry.path} for entry in repo.entries.values()]
        gated = "auto" if repo.name in self.mirror.gates else False
        self._send_json({"id": repo.name, "modelId": repo.name, "sha": repo.commit, "private": False, "gated": gated, "siblings": siblings})

    def _send_tree(self, repo: Repo, below: str, query: dict[str, list[str]]) -> None:
        rows = _tree(repo, below.rstrip("/"), is_recursive=query.get("recursive", ["false"])[0].lower() == "true")
        start = int(query.get("cursor", ["0"])[0])
        stop = start + self.mirror.page_size
        headers = {}
        if stop < len(rows):
            recursive = query.get("recursive", ["false"])[0]
            tail = f"/{quote(below)}" if below else ""
            address = f"{self.mirror.base_url}/api/models/{repo.name}/tree/{repo.commit}{tail}?recursive={recursive}&cursor={stop}"
            headers["Link"] = f'<{address}>; rel="next"'
        self._send_json(rows[start:stop], headers=headers)

    def _send_paths(self, repo: Repo) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        is_json = "json" in self.headers.get("Content-Type", "")
        asked = json.loads(body)["paths"] if is_json else parse_qs(body).get("paths", [])
        rows = {row["path"]: row for row in _tree(repo, "", is_recursive=True)}
        self._send_json([rows[path] for path in asked if path in rows])

    def _resolve(self, name: str, revision: str, path: str) -> None:
        self._note("resolve", f"{name}/{path}")
        if self._strike("resolve", path):
            return
        repo = self._find(name, revision)
        entry = repo.entries.get(path)
        if entry is None:
            raise Refusal("no_entry")
        is_wrong = self.fault is not None and self.fault.kind == "wrong_commit"
        headers = {"X-Repo-Commit": "f" * 40 if is_wrong else repo.commit, "Content-Length": "0", "Accept-Ranges": "bytes"}
        if entry.is_large:
            self._redirect_to_store(repo, entry, headers)
        else:
            where = f"/api/resolve-cache/models/{repo.name}/{repo.commit}/{quote(path)}"
            self._head(307, {**headers, "ETag": f'"{entry.git_oid}"', "X-Linked-Size": str(entry.size), "Location": where})

    def _redirect_to_store(self, repo: Repo, entry: Entry, headers: dict[str, str]) -> None:
        kind = self.fault.kind if self.fault else ""
        link = self.mirror.links.make(f"{repo.name}/{repo.commit}/{entry.path}", is_expired=kind == "expired_link")
        store = "http://127.0.0.2:9" if kind == "dead_link" else self.mirror.store_url
        linked = {"X-Linked-Etag": f'"{entry.sha256}"', "X-Linked-Size": str(entry.size), "ETag": f'"{entry.sha256}"'}
        self._head(302, {**headers, **linked, "Location": store + link})

    def _send_small(self, name: str, commit: str, path: str) -> None:
        repo = self._find(name, commit)
        entry = repo.entries.get(path)
        if entry is None:
            raise Refusal("no_entry")
        self._note("body", f"{name}/{path}")
        fault = self.mirror.faults.take("body", path) if self.command == "GET" else None
        headers = {"X-Repo-Commit": repo.commit}
        Sender(self, self.note, self.mirror.pace, self.mirror.over).send(entry, f'"{entry.git_oid}"', headers, fault)

    def _refuse(self, word: str) -> None:
        status, headers = STATUS_HEADERS[word]
        self._send_json({"error": headers.get("X-Error-Message", word)}, status, headers)

    def _send_json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        kind = {"Content-Type": "application/json; charset=utf-8", "Content-Length": str(len(content))}
        self._head(status, {**kind, **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        if hasattr(self, "note"):
            self.note.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class StoreHandler(Handler):
    """The store of large files: only signed links, and no credentials, as object stores want it."""

    def _answer(self) -> None:
        url = urlsplit(self.path)
        key = unquote(url.path).lstrip("/")
        org, name, commit, path = (key.split("/", 3) + [""] * 3)[:4]
        request = self.record("body", f"{org}/{name}/{path}")
        sender = Sender(self, request, self.mirror.pace, self.mirror.over)
        repo = self.mirror.catalog.repo(f"{org}/{name}", commit)
        if request.has_token or not self.mirror.links.is_valid(key, url.query):
            return sender.head(400 if request.has_token else 403, {"Content-Length": "0"})
        if repo is None or path not in repo.entries:
            return sender.head(404, {"Content-Length": "0"})
        fault = self.mirror.faults.take("body", path) if self.command == "GET" else None
        entry = repo.entries[path]
        if fault and fault.kind == "status":
            return sender.head(fault.status, {**fault.headers, "Content-Length": "0"})
        return sender.send(entry, f'"{entry.sha256[:32]}-1"', {}, fault)

    do_GET = do_HEAD = _answer  # noqa: N815


def _sibling(entry: Entry) -> dict[str, object]:
    lfs = {"sha256": entry.sha256, "size": entry.size, "pointerSize": len(entry.pointer)}
    return {"rfilename": entry.path, "size": entry.size, "blobId": entry.git_oid, **({"lfs": lfs} if entry.is_large else {})}


def _tree(repo: Repo, below: str, *, is_recursive: bool) -> list[dict[str, object]]:
    prefix = f"{below}/" if below else ""
    rows: dict[str, dict[str, object]] = {}
    for entry in repo.entries.values():
        if not entry.path.startswith(prefix):
            continue
        parts = entry.path.removeprefix(prefix).split("/")
        for depth in range(1, len(parts) if is_recursive else min(2, len(parts))):
            folder = prefix + "/".join(parts[:depth])
            rows[folder] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
        if is_recursive or len(parts) == 1:
            rows[entry.path] = _row(entry)
    return list(rows.values())


def _row(entry: Entry) -> dict[str, object]:
    lfs = {"oid": entry.sha256, "size": entry.size, "pointerSize": len(entry.pointer)}
    return {"type": "file", "oid": entry.git_oid, "size": entry.size, "path": entry.path, **({"lfs": lfs} if entry.is_large else {})}
