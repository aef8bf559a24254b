"""What an engine answers on its endpoint: status and JSON of one request. Standard library only, since the switch must start fast."""

import http.client
import json
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue, ValidationError

from modelpivot.models.json_text import read_json
from modelpivot.models.release import Endpoint

LARGEST_ANSWER = 4_000_000
"""Bytes of an answer that are read."""
HELLO = "Hello"


@dataclass(frozen=True)
class Reply:
    """One answer. `status` 0: there was none, and `problem` says why."""

    status: int
    body: JsonValue = None
    problem: str = ""

    @property
    def is_refused(self) -> bool:
        """True: nobody listens."""
        return self.problem == "connection refused"

    def __str__(self) -> str:
        return self.problem or f"HTTP {self.status}: {json.dumps(self.body)[:200]}"


def ask(endpoint: Endpoint, path: str, *, body: JsonValue = None, key: str | None = None, timeout_s: float) -> Reply:
    """GET, or POST of `body`; never raises for what the other side does. `timeout_s` is for each read of the socket."""
    host, port = endpoint.base_url.removeprefix("http://").rsplit(":", 1)
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=timeout_s)
    headers = {"Content-Type": "application/json", "Connection": "close"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return Reply(answer.status, _parse(answer.read(LARGEST_ANSWER)))
    except ConnectionRefusedError:
        return Reply(0, problem="connection refused")
    except TimeoutError:
        return Reply(0, problem=f"no answer within {timeout_s:g} s")
    except (OSError, http.client.HTTPException) as error:
        return Reply(0, problem=f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def _parse(content: bytes) -> JsonValue:
    text = content.decode(errors="replace")
    try:
        parsed: JsonValue = read_json(text)
    except ValueError:
        return text[:1000]
    return parsed


@dataclass(frozen=True)
class Completion:
    """A generated text. `tokens` and `logprobs` are of the answer; empty when they were not asked for."""

    text: str
    completion_tokens: int
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float | None, ...] = ()


class _Logprobs(BaseModel):
    tokens: list[str] = []
    token_logprobs: list[float | None] = []


class _Choice(BaseModel):
    text: str
    logprobs: _Logprobs | None = None


class _Usage(BaseModel):
    completion_tokens: int


class _Body(BaseModel):
    choices: list[_Choice]
    usage: _Usage


def complete(
    endpoint: Endpoint, prompt: str, *, max_tokens: int, key: str | None, timeout_s: float, has_logprobs: bool = False
) -> Completion | Reply:
    """One generation at temperature 0; the reply itself when it is none."""
    body: dict[str, JsonValue] = {"model": endpoint.served_name, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "seed": 0}
    if has_logprobs:
        body |= {"logprobs": 1}
    reply = ask(endpoint, "/v1/completions", body=body, key=key, timeout_s=timeout_s)
    return (parse_completion(reply.body) or reply) if reply.status == 200 else reply


def parse_completion(body: JsonValue) -> Completion | None:
    """A `/v1/completions` answer; None when it is not one.

    Sample: {"choices": [{"text": " x", "logprobs": {"tokens": [" x"], "token_logprobs": [-0.1]}}], "usage": {"completion_tokens": 1}}
    """
    try:
        parsed = _Body.model_validate(body)
    except ValidationError:
        return None
    if not parsed.choices:
        return None
    choice, logprobs = parsed.choices[0], parsed.choices[0].logprobs or _Logprobs()
    return Completion(choice.text, parsed.usage.completion_tokens, tuple(logprobs.tokens), tuple(logprobs.token_logprobs))


def read_generates(endpoint: Endpoint, *, key: str | None, timeout_s: float) -> str:
    """Empty when one short generation comes back with at least one token; otherwise what came instead."""
    answer = complete(endpoint, HELLO, max_tokens=2, key=key, timeout_s=timeout_s)
    if isinstance(answer, Reply):
        return str(answer)
    return "" if answer.completion_tokens > 0 else "an answer without a token"
