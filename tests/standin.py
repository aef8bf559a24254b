#!/usr/bin/env python3
"""A stand-in for an engine, and called one: binds a port, "loads", answers like vLLM, and misbehaves on demand. Standard library only.

standin.py --port 8000 --name small [--model PATH] [--load-s 0.15] [--fault FAULT]

FAULT: none; die_at_start (with a traceback far above the last line); die_after_ready (one second after the first generation); hang_loading;
deaf_loading (the same, and ignores SIGTERM);
hang_generating (/health is 200); die_hanging (the same, and dies 0.3 s later); lie (/health is 200, generation is 500); ignore_term;
garbage (one token over and over); empty (no token);
child (leaves a child in a session of its own that ignores SIGTERM, as VLLM::EngineCore may outlive its API server);
linger (told to end it answers what is under way, and then stays);
nan (log-probabilities that are no numbers); unlisted (another model name); drift (lower log-probabilities at every start)
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "rain", "falls", "on", "old", "stones"]
TRACEBACK = """(EngineCore pid=2) ERROR 11-30 08:36:00 [core.py:1330] EngineCore failed to start.
(EngineCore pid=2) ERROR 11-30 08:36:00 [core.py:1330] Traceback (most recent call last):
(EngineCore pid=2) ERROR 11-30 08:36:00 [core.py:1330]   File "/engine/deepseek_v2.py", line 1731, in load_weights
(EngineCore pid=2) ERROR 11-30 08:36:00 [core.py:1330]     param = params_dict[name]
(EngineCore pid=2) ERROR 11-30 08:36:00 [core.py:1330] KeyError: 'layers.1.mlp.gate.e_score_correction_bias'
(APIServer pid=1) Traceback (most recent call last):
(APIServer pid=1)   File "/engine/utils.py", line 1272, in wait_for_engine_startup
(APIServer pid=1)     raise RuntimeError(
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"""


def say(text: str) -> None:
    """A line as vLLM writes it."""
    print(f"(APIServer pid={os.getpid()}) INFO 11-30 08:35:21 [standin.py:1] {text}", flush=True)


def generate(name: str, prompt: str, count: int, drift: float) -> tuple[list[str], list[float]]:
    """Tokens and log-probabilities that depend on name, prompt and drift alone."""
    tokens, logprobs = [], []
    for number in range(count):
        digest = hashlib.sha256(f"{name}|{prompt}|{number}".encode()).digest()
        tokens.append(" " + WORDS[(digest[0] + number) % len(WORDS)])
        logprobs.append(-digest[1] / 64 - drift)
    return tokens, logprobs


class Handler(BaseHTTPRequestHandler):
    """The part of the API that a switch asks."""

    options: argparse.Namespace
    drift = 0.0
    is_asked = threading.Event()

    def log_message(self, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, {})
        elif self.path == "/v1/models":
            name = "somebody-else" if self.options.fault == "unlisted" else self.options.name
            self._answer(200, {"object": "list", "data": [{"id": name, "object": "model"}]})
        else:
            self._answer(404, {"error": "no such path"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("model") != self.options.name:
            self._answer(404, {"error": f"no model {body.get('model')}"})
        elif self.options.fault == "hang_generating":
            time.sleep(3600)
        elif self.options.fault == "die_hanging":
            threading.Timer(0.3, os._exit, [1]).start()
            time.sleep(3600)
        elif self.options.fault == "lie":
            self._answer(500, {"error": "EngineDeadError"})
        else:
            self.is_asked.set()
            self._answer(200, self._complete(body))

    def _complete(self, body: Any) -> Any:
        fault, prompt = self.options.fault, body.get("prompt") or json.dumps(body.get("messages"))
        count = 0 if fault == "empty" else int(body.get("max_tokens", 16))
        tokens, logprobs = generate(self.options.name, prompt, count, self.drift)
        if fault == "garbage":
            tokens = ["!" for _ in tokens]
        if fault == "nan":
            logprobs = [float("nan") for _ in logprobs]
        text = "".join(tokens)
        told = {"tokens": tokens, "token_logprobs": logprobs, "text_offset": [], "top_logprobs": []} if body.get("logprobs") else None
        choice = {"index": 0, "text": text, "logprobs": told, "finish_reason": "length"}
        if self.path.endswith("chat/completions"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
        return {"id": "x", "model": self.options.name, "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": count}}

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)


def leave_child() -> None:
    """A child that outlives us: session of its own, ignores SIGTERM, its environment kept (it carries the unit's token)."""
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('child', flush=True); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()


def end(after_s: float) -> None:
    """End as an engine does that shuts down in order."""
    time.sleep(after_s)
    os._exit(0)


def load(options: argparse.Namespace) -> None:
    """Tell what vLLM tells while it loads, for `load_s` seconds."""
    say("non-default args: {}")
    if options.fault == "die_at_start":
        print(TRACEBACK, *(f"(APIServer pid=1) at the end, line {number}" for number in range(9)), sep="\n", flush=True)
        sys.exit(1)
    say("Initializing a V1 LLM engine (v0.0)")
    if options.fault in ("hang_loading", "deaf_loading"):
        while True:
            say("Waiting for 1 local, 0 remote core engine proc(s) to start.")
            time.sleep(0.2)
    for shard in range(1, 5):
        time.sleep(options.load_s / 4)
        sys.stderr.write(f"\rLoading safetensors checkpoint shards: {25 * shard}% Completed | {shard}/4 [00:00<00:00,  5.95it/s]\n")
        sys.stderr.flush()
    say("GPU KV cache size: 1,024 tokens")


def take_one(path: Path) -> bool:
    """Whether this start has the fault; counts the file down."""
    left = int(path.read_text()) if path.exists() else 0
    if left:
        path.write_text(str(left - 1))
    return left > 0


def main() -> None:
    """Load, bind, answer until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--load-s", type=float, default=0.15)
    parser.add_argument("--stop-s", type=float, default=0.0)
    parser.add_argument("--model", help="named, and not looked at")
    parser.add_argument("--fault", default="none")
    parser.add_argument("--fault-times", type=Path, help="file with the number of starts that still have the fault; missing: none")
    options = parser.parse_args()
    if options.fault_times and not take_one(options.fault_times):
        options.fault = "none"
    if options.fault in ("ignore_term", "deaf_loading"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: end(options.stop_s))
    if options.fault == "child":
        leave_child()
    load(options)
    Handler.options = options
    Handler.drift = 1 + time.monotonic() % 1000 if options.fault == "drift" else 0.0
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    if options.fault == "linger":
        signal.signal(signal.SIGTERM, lambda *_: server.socket.close())
    say(f"Starting vLLM server on http://127.0.0.1:{options.port}")
    print("INFO:     Application startup complete.", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if options.fault == "die_after_ready":
        Handler.is_asked.wait()
        time.sleep(1)
        print("RuntimeError: the stand-in dies after ready", flush=True)
        os._exit(1)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
