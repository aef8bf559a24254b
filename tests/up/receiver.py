"""A webhook receiver on loopback that keeps what it is sent."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.switching import wait_until


@dataclass(frozen=True)
class Received:
    """One message as it came in."""

    path: str
    key: str
    subject: str
    body: str


class Receiver:
    """Listens until `stop`. `answer` is the status that it answers with."""

    def __init__(self) -> None:
        self.messages: list[Received] = []
        self.answer = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = self.headers.get("Authorization", "")
                receiver.messages.append(Received(self.path, key, content["subject"], content["body"]))
                self.send_response(receiver.answer)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def about(self, *words: str) -> list[Received]:
        """Messages that hold every word."""
        return [one for one in self.messages if all(word in f"{one.subject}\n{one.body}" for word in words)]

    def wait_for(self, *words: str, deadline_s: float = 180.0) -> Received:
        """The one message with these words, once it is there."""
        [message] = wait_until(lambda: self.about(*words), what=f"the alert {words}; came: {self.messages}", deadline_s=deadline_s)
        return message

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
