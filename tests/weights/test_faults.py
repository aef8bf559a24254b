"""Every fault of the way to a file, switched on one by one: what arrives is right, or nothing has a name."""

import re
import time
from collections.abc import Iterator

import pytest

from modelpivot.errors import IntegrityError, PreconditionError, TransientError
from modelpivot.mirror.faults import Fault, FaultKind, answer_fault
from modelpivot.weights.answers import Refused
from modelpivot.weights.reconnect import Patience
from tests.weights.conftest import SHARD, Lab

PASSING = [
    Fault(kind="reset", at=0.6),
    Fault(kind="close", at=0.3),
    Fault(kind="stall", at=0.7),
    Fault(kind="flip", at=0.0),
    Fault(kind="flip", at=0.99),
    Fault(kind="truncate", at=0.4),
    Fault(kind="gzip"),
    Fault(kind="pointer"),
    Fault(kind="error_page"),
    Fault(kind="empty"),
    Fault(kind="trickle", seconds=0.2),
    Fault(kind="expired_link", place="resolve"),
    Fault(kind="dead_link", place="resolve"),
    Fault(kind="reset", place="resolve"),
    Fault(kind="stall", place="resolve"),
    *(Fault(kind="status", place="resolve", status=status) for status in (408, 429, 500, 502, 503, 504)),
    *(Fault(kind="status", place="body", status=status) for status in (400, 403, 404, 416, 500, 503)),
]


@pytest.fixture(autouse=True)
def no_wrong_file(lab: Lab) -> Iterator[None]:
    """After every fault, every file that has its name has the right bytes."""
    yield
    lab.assert_no_wrong_file()


@pytest.mark.parametrize(
    "fault", PASSING, ids=lambda fault: f"{fault.place}-{fault.kind}-{fault.status if fault.kind == 'status' else fault.at}"
)
@pytest.mark.parametrize("times", [1, 2])
def test_passing_fault_ends_complete(lab: Lab, fault: Fault, times: int) -> None:
    """Whatever happens once or twice on the way, the fetch ends with the right bytes, without a second call."""
    lab.mirror.faults.add(fault.model_copy(update={"path": f"*{SHARD}", "times": times if fault.kind != "flip" else 1}))
    lab.fetch(**({"stall_s": 0.5} if fault.kind in ("stall", "trickle") else {}))
    assert lab.mirror.faults.left() == 0
    lab.assert_complete()


def test_reset_goes_on_at_the_last_byte(lab: Lab) -> None:
    """After a reset in the body the next request starts where the bytes on disk end, not at zero (D11)."""
    lab.mirror.faults.add(Fault(kind="reset", at=0.6, path=SHARD))
    lab.fetch()
    first, second = lab.mirror.served.of(f"acme/tiny/{SHARD}")
    assert 0 < second.start <= first.sent
    assert second.start + second.sent == lab.file().size


def test_flipped_byte_is_named_and_set_aside(lab: Lab) -> None:
    """Right length, wrong bytes: file, expected and found are told, and it is fetched again by a new connection (D1)."""
    lab.mirror.faults.add(Fault(kind="flip", at=0.0, path=SHARD))
    lab.fetch()
    lab.assert_complete()
    assert f"{SHARD}: HASH_MISMATCH: expected {lab.file().sha256}, found " in lab.told.warnings


def test_second_download_after_wrong_bytes_takes_the_other_transport(lab: Lab) -> None:
    """The next bytes come by the Hub's own library, and are proved like all others (D1); nothing of it is left on disk."""
    lab.mirror.faults.add(Fault(kind="flip", at=0.5, path=SHARD))
    lab.fetch()
    lab.assert_complete()
    first, second = lab.mirror.served.of(f"acme/tiny/{SHARD}")
    assert (first.agent, second.agent.split("/")[0]) == ("modelpivot", "unknown")


def test_library_that_fails_is_not_the_end(lab: Lab) -> None:
    """The other transport is down too: the next try is by our own way again."""
    lab.mirror.faults.add(Fault(kind="flip", at=0.5, path=SHARD))
    lab.mirror.faults.add(Fault(kind="status", place="body", status=404, path=SHARD))
    lab.fetch()
    lab.assert_complete()


def test_same_wrong_bytes_twice_are_upstreams_fault(lab: Lab) -> None:
    """A second identical wrong digest ends in IntegrityError after exactly two downloads; the other files are there (D1)."""
    lab.mirror.faults.add(Fault(kind="flip", at=0.2, path=SHARD, times=None))
    with pytest.raises(IntegrityError, match=rf"HASH_MISMATCH {SHARD}.*upstream is bad"):
        lab.fetch()
    assert len(lab.mirror.served.of(f"acme/tiny/{SHARD}")) == 2
    assert lab.assert_no_wrong_file() == len(lab.manifest.files) - 1


def test_all_bad_files_are_named_at_once(lab: Lab) -> None:
    """Two shards that upstream serves wrong are two lines of one error."""
    for shard in (SHARD, "model-00003-of-00003.safetensors"):
        lab.mirror.faults.add(Fault(kind="flip", at=0.2, path=shard, times=None))
    with pytest.raises(IntegrityError) as caught:
        lab.fetch()
    assert caught.value.message.count("HASH_MISMATCH") == 2


@pytest.mark.parametrize(("kind", "code"), [("pointer", "LFS_POINTER"), ("error_page", "ERROR_PAGE"), ("empty", "EMPTY")])
def test_lasting_wrong_content_is_named_and_never_written(lab: Lab, kind: FaultKind, code: str) -> None:
    """A pointer, a page or nothing in place of a shard is named as such, and not a byte of it lands on disk (D4, D8)."""
    lab.mirror.faults.add(Fault(kind=kind, path=SHARD, times=None))
    with pytest.raises(IntegrityError, match=f"{code} {SHARD}"):
        lab.fetch()
    assert not lab.partial().exists() or lab.partial().stat().st_size == 0


def test_stall_is_cut_and_resumed(lab: Lab) -> None:
    """70 % and then silence for an hour: the connection is given up after the stall time and the rest comes by another (D3)."""
    lab.mirror.faults.add(Fault(kind="stall", at=0.7, path=SHARD))
    assert lab.fetch(stall_s=1.5).reconnects >= 1
    assert lab.mirror.served.of(f"acme/tiny/{SHARD}")[1].start == int(lab.file().size * 0.7)


def test_lasting_stalls_are_told(lab: Lab) -> None:
    """After three stalls without a new byte somebody hears of it (D3)."""
    lab.mirror.faults.add(Fault(kind="stall", at=0.0, path=SHARD, times=4))
    lab.fetch(stall_s=0.2)
    cut = "nothing came from .* in time|connection cut"
    assert re.search(rf"{SHARD}: ({cut}); tried 3 times without a new byte", lab.told.warnings)


def test_trickle_counts_as_frozen(lab: Lab) -> None:
    """A few bytes now and then keep no connection alive (D3): the whole shard would take five minutes that way."""
    lab.mirror.faults.add(Fault(kind="trickle", seconds=0.1, path=SHARD))
    assert lab.fetch(stall_s=1).seconds < 200
    assert "connection cut" in lab.told.warnings


def test_rate_limit_is_waited_for(lab: Lab) -> None:
    """429 with a RateLimit that resets in one second, three times: three seconds later everything is there (D7)."""
    lab.mirror.faults.add(
        Fault(kind="status", place="resolve", status=429, headers={"RateLimit": '"resolvers";r=0;t=1'}, times=3, path=f"*{SHARD}")
    )
    started = time.monotonic()
    lab.fetch()
    assert time.monotonic() - started >= 3
    lab.assert_complete()


def test_six_times_503_are_borne(lab: Lab) -> None:
    """503 six times in a row is no "file not found" (D7)."""
    lab.mirror.faults.add(Fault(kind="status", place="resolve", status=503, times=6, path=f"*{SHARD}"))
    lab.fetch()
    lab.assert_complete()


def test_hub_that_stays_down_is_transient_and_keeps_the_bytes(lab: Lab) -> None:
    """Patience ends: TransientError, what came is kept, and the next call goes on there."""
    lab.mirror.faults.add(Fault(kind="reset", at=0.5, path=SHARD, times=None))
    with pytest.raises(TransientError):
        lab.fetch(patience=Patience(idle_s=0.0, deadline_s=10, first_s=0.02, longest_s=0.05))
    kept = lab.partial().stat().st_size
    assert 0 < kept < lab.file().size
    lab.mirror.faults.clear()
    assert lab.fetch().resumed_bytes >= kept
    lab.assert_complete()


@pytest.mark.parametrize(
    ("word", "problem"),
    [("gated", "gated"), ("bad_credentials", "unauthorized"), ("no_entry", "not_found"), ("no_revision", "revision_gone")],
)
def test_refusal_is_not_tried_again(lab: Lab, word: str, problem: str) -> None:
    """401, 403 and 404 of the Hub end the fetch at once with their own remedy (D7, D8)."""
    lab.mirror.faults.add(answer_fault(word, path=f"*{SHARD}"))
    with pytest.raises(Refused) as caught:
        lab.fetch()
    assert caught.value.problem == problem and caught.value.hint
    assert len(lab.mirror.served.of(f"acme/tiny/{SHARD}", place="resolve")) == 1


def test_revision_that_vanishes_midway_is_said(lab: Lab) -> None:
    """The pinned commit is gone when the second file is asked for: revision_gone, and no file of another commit (D10)."""
    (lab.source / "config.json").write_text('{"other": true}')
    with pytest.raises(Refused) as caught:
        lab.fetch()
    assert caught.value.problem == "revision_gone"
    (lab.source / "config.json").write_text('{"architectures": ["TinyForCausalLM"], "model_type": "tiny"}')


def test_answer_of_another_commit_is_refused(lab: Lab) -> None:
    """A Hub that answers for another commit is not followed (D10)."""
    lab.mirror.faults.add(Fault(kind="wrong_commit", place="resolve", path=f"*{SHARD}"))
    with pytest.raises(Refused, match="expected commit"):
        lab.fetch()


@pytest.mark.parametrize("kind", ["wrong_range", "ignore_range", "gzip", "truncate"])
def test_resume_never_appends_at_the_wrong_place(lab: Lab, kind: FaultKind) -> None:
    """A resumed request answered from another offset, from zero, encoded or short ends with the right bytes (D12)."""
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes((lab.source / SHARD).read_bytes()[:120_001])
    lab.mirror.faults.add(Fault(kind=kind, path=SHARD))
    lab.fetch()
    assert lab.mirror.faults.left() == 0
    lab.assert_complete()
    assert "HASH_MISMATCH" not in lab.told.warnings


def test_server_that_never_does_ranges_still_serves(lab: Lab) -> None:
    """200 from zero on every resume: bytes that we have are read past, the rest is taken (D12)."""
    lab.mirror.faults.add(Fault(kind="reset", at=0.5, path=SHARD))
    lab.mirror.faults.add(Fault(kind="ignore_range", path=SHARD, times=None))
    lab.fetch()
    lab.assert_complete()


def test_token_stays_with_its_host(lab: Lab) -> None:
    """The Hub sees the token, the store of signed links never does (D12)."""
    lab.fetch()
    assert all(each.has_token for each in lab.mirror.served.requests if each.place == "resolve")
    assert not any(each.has_token for each in lab.mirror.served.requests if each.place == "body" and each.path.endswith(".safetensors"))


def test_signed_link_that_is_over_is_renewed_midway(lab: Lab) -> None:
    """Reset in the body, and the old link is over: the next try asks the Hub for a new one and goes on at the byte (D12)."""
    lab.mirror.faults.add(Fault(kind="reset", at=0.5, path=SHARD))
    lab.mirror.faults.add(Fault(kind="status", place="body", status=403, path=SHARD))
    lab.fetch()
    assert len(lab.mirror.served.of(f"acme/tiny/{SHARD}", place="resolve")) == 3
    lab.assert_complete()


def test_store_that_refuses_every_link_is_given_up(lab: Lab) -> None:
    """Fresh links refused again and again end in a precondition, not in endless asking."""
    lab.mirror.faults.add(Fault(kind="expired_link", place="resolve", path=f"*{SHARD}", times=None))
    with pytest.raises(PreconditionError, match="signed link is refused"):
        lab.fetch(patience=Patience(idle_s=60, deadline_s=60, first_s=0.001, longest_s=0.002))


def test_no_secret_in_messages(lab: Lab) -> None:
    """Neither token nor signature reaches a message, a warning or their causes."""
    lab.mirror.faults.add(Fault(kind="dead_link", place="resolve", path=f"*{SHARD}", times=None))
    with pytest.raises(TransientError) as caught:
        lab.fetch(patience=Patience(idle_s=0.1, deadline_s=5, first_s=0.02, longest_s=0.05))
    text, error = lab.told.warnings, caught.value  # type: tuple[str, BaseException | None]
    while error is not None:
        text, error = text + repr(error) + str(error), error.__cause__
    assert "Signature" not in text and "hf_secret" not in text


def test_wrong_bytes_on_disk_before_a_resume_cost_one_download(lab: Lab) -> None:
    """A partial that a crash left with wrong bytes is found by the digest, and fetched whole."""
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes(bytes(150_000))
    lab.fetch()
    lab.assert_complete()
    requests = lab.mirror.served.of(f"acme/tiny/{SHARD}")
    assert [(each.start, each.agent) for each in requests] == [(150_000, "modelpivot"), (0, "modelpivot")]


def test_partial_longer_than_the_file_starts_anew(lab: Lab) -> None:
    """More bytes than the file has are no beginning of it."""
    lab.partial().parent.mkdir(parents=True)
    lab.partial().write_bytes(bytes(300_000))
    lab.fetch()
    lab.assert_complete()


def test_link_in_place_of_a_partial_is_not_followed(lab: Lab) -> None:
    """A partial that is a link is refused: nothing is written through it (D13)."""
    victim = lab.directory.parent / "victim"
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_bytes(b"untouched")
    lab.partial().parent.mkdir(parents=True)
    lab.partial().symlink_to(victim)
    with pytest.raises(PreconditionError):
        lab.fetch()
    assert victim.read_bytes() == b"untouched"


def test_deadline_ends_everything(lab: Lab) -> None:
    """One deadline for the whole: a Hub that answers 503 for ever is given up then, long before a minute without a byte."""
    lab.mirror.faults.add(Fault(kind="status", place="resolve", status=503, times=None))
    started = time.monotonic()
    with pytest.raises(TransientError, match="503"):
        lab.fetch(patience=Patience(idle_s=60, deadline_s=1, first_s=0.1, longest_s=0.3))
    assert time.monotonic() - started < 50
