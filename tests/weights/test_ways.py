"""The ways of companies: through a proxy, over TLS. What arrives is the same."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from modelpivot.errors import TransientError
from modelpivot.mirror.faults import Fault
from modelpivot.weights.fetch import FetchOptions, fetch_manifest
from modelpivot.weights.pools import proxy_for
from modelpivot.weights.reconnect import Patience
from tests.weights.conftest import NEVER_S, QUICK, Lab, manifest_of
from tests.weights.ways import forward_proxy, make_certificate, tls_in_front

LONG = "long.txt"


@pytest.fixture
def small(lab: Lab) -> Lab:
    """One file of 900 kB that the Hub hands out itself, without another host."""
    (lab.source / LONG).write_text("0123456789abcdef" * 56_000)
    whole = manifest_of(lab.mirror)
    lab.manifest = whole.model_copy(update={"files": [file for file in whole.files if file.path == LONG]})
    return lab


def fetch(lab: Lab, endpoint: str, *, stall_s: float, patience: Patience = QUICK) -> None:
    """By another address than the mirror's own."""
    fetch_manifest(lab.manifest, lab.directory, endpoint=endpoint, tell=lab.told, options=FetchOptions(patience=patience, stall_s=stall_s))


def test_proxy_of_the_environment_is_used_for_hub_and_store(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP_PROXY leads every request, those of signed links too."""
    asked: list[str] = []
    with forward_proxy(asked) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        lab.fetch()
    lab.assert_complete()
    assert any("/resolve/" in line for line in asked) and any(lab.mirror.store_url in line for line in asked)


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "https://hub.example/x", ""),
        ({"https_proxy": "http://p:3128"}, "https://hub.example/x", "http://p:3128"),
        ({"https_proxy": "p:3128"}, "https://hub.example/x", "http://p:3128"),
        ({"https_proxy": "http://p:3128"}, "http://hub.example/x", ""),
        ({"all_proxy": "http://p:3128"}, "http://hub.example/x", "http://p:3128"),
        ({"https_proxy": "http://p:3128", "no_proxy": "hub.example"}, "https://hub.example/x", ""),
        ({"https_proxy": "http://p:3128", "no_proxy": "*"}, "https://hub.example/x", ""),
    ],
)
def test_which_proxy_for_which_address(environment: dict[str, str], url: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As every other tool reads the environment."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    parts = urlsplit(url)
    assert proxy_for(parts.scheme, parts.hostname or "") == proxy


@pytest.mark.parametrize("kind", ["reset", "stall", "trickle"])
def test_faults_over_tls_end_complete_without_a_wrong_byte(small: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A connection cut under its reader hands out nothing encrypted: the rest is resumed, and no digest was wrong."""
    certificate = make_certificate(tmp_path / "pair.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    small.mirror.faults.add(Fault.model_validate({"kind": kind, "path": LONG, "at": 0.5, "seconds": 0.05 if kind == "trickle" else 60}))
    with tls_in_front(small.mirror.base_url, certificate) as endpoint:
        fetch(small, endpoint, stall_s=NEVER_S if kind == "reset" else 0.5)
    small.assert_complete()
    assert "HASH_MISMATCH" not in small.told.warnings and small.mirror.faults.left() == 0


def test_certificate_that_nobody_trusts_is_not_taken(small: Lab, tmp_path: Path) -> None:
    """No byte comes over a connection whose other end is not proved."""
    certificate = make_certificate(tmp_path / "pair.pem")
    with tls_in_front(small.mirror.base_url, certificate) as endpoint, pytest.raises(TransientError, match="SSL"):
        fetch(small, endpoint, stall_s=NEVER_S, patience=Patience(idle_s=0.3, deadline_s=60, first_s=0.05, longest_s=0.1))
    assert small.mirror.served.requests == []
