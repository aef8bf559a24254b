"""What the Hub says of a repository, read by our own way and held against what the Hub's library makes of the same answer."""

import json

import pytest
from huggingface_hub import HfApi
from hypothesis import given
from hypothesis import strategies as st

from modelpivot.errors import TransientError
from modelpivot.weights.listing import Listed, Listing, parse_listing, read_listing
from tests.weights.conftest import REPO, Lab


def test_listing_is_what_the_library_reads(lab: Lab) -> None:
    """Commit, names, sizes and digests are those that huggingface_hub's HfApi gives for the same repository."""
    theirs = HfApi(endpoint=lab.mirror.base_url, token=False).model_info(REPO, revision="main", files_metadata=True)
    ours = read_listing(lab.mirror.base_url, REPO, "main", token=None, timeout_s=5)
    assert ours.commit == theirs.sha and theirs.siblings
    assert set(ours.files) == {
        Listed(each.rfilename, each.size, each.lfs.sha256 if each.lfs else None, each.blob_id) for each in theirs.siblings
    }


def test_gated_and_private_are_read() -> None:
    """`gated` is a word or false."""
    document = {"sha": "a" * 40, "siblings": [], "gated": "auto", "private": True}
    assert parse_listing(json.dumps(document).encode(), what="x") == Listing("a" * 40, (), is_gated=True, is_private=True)


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["sha", "siblings", "rfilename", "size", "lfs"]), inner),
    ).map(lambda each: json.dumps(each).encode())
)
def test_any_answer_is_a_listing_or_passing(content: bytes) -> None:
    """Whatever comes in place of the Hub's JSON is asked for again, never an exception of another kind."""
    try:
        parse_listing(content, what="x")
    except TransientError as error:
        assert "expected a commit" in error.message


@pytest.mark.parametrize("revision", ["refs/pr/1", "a b"])
def test_revision_is_one_part_of_the_address(lab: Lab, revision: str) -> None:
    """A slash in a revision does not make another address of it."""
    from modelpivot.weights.answers import Refused

    with pytest.raises(Refused) as caught:
        read_listing(lab.mirror.base_url, REPO, revision, token=None, timeout_s=5)
    assert caught.value.problem == "revision_gone"
