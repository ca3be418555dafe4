"""Text with its own checksum, so that no changed byte goes unnoticed."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.checked_text import checked_line, content_of, line_body, with_checksum

CONTENT = b"0\n1\norders 0 1500\n"


def is_believed(data: bytes, word: bytes) -> bool:
    try:
        return content_of(data, word) is not None
    except ValueError:
        return False


@pytest.mark.parametrize("word", [b"crc32c", b"checksums"])
def test_a_content_comes_back_and_no_changed_byte_of_it_does(word: bytes) -> None:
    data = with_checksum(CONTENT, word)
    assert content_of(data, word) == CONTENT
    assert content_of(with_checksum(b"", word), word) == b""
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert not is_believed(changed, word)


def test_a_text_without_such_a_line_is_no_damaged_one() -> None:
    assert content_of(CONTENT) is None
    assert content_of(b"") is None
    with pytest.raises(ValueError, match="checksum"):
        content_of(with_checksum(CONTENT) + b"x")


@pytest.mark.parametrize("separator", [b" ", b"\t"])
def test_each_line_is_believed_by_itself(separator: bytes) -> None:
    line = checked_line(b"gone orders 0", separator).removesuffix(b"\n")
    assert line_body(line, separator) == b"gone orders 0"
    assert line_body(line, b"-") is None
    assert line_body(b"", separator) is None
    for at in range(len(line)):
        assert line_body(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :], separator) is None


def test_the_bytes_are_those_of_the_files_that_were_written_before() -> None:
    assert with_checksum(b"abc\n") == b"abc\ncrc32c 5f762674\n"
    assert checked_line(b"abc") == b"364b3fb7 abc\n"
