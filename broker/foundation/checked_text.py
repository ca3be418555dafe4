"""Text that carries its own checksum, CRC-32C in 8 hex digits: the small files of a data folder. Pure.

A file that is replaced as a whole ends with a line with the checksum of all bytes before it; the line begins with
`word`:

    ...
    crc32c 5d0a3f21

In a growing file each line begins with a checksum of the text after its separator, so that every line can be
verified or skipped by itself:

    5d0a3f21 ...
"""

from __future__ import annotations

from typing import Final

from shareq.protocol.records.checksum import crc32c

_WORD: Final = b"crc32c"
_DIGITS: Final = 8


def with_checksum(content: bytes, word: bytes = _WORD) -> bytes:
    """Return the content, which must be empty or end with a line feed, with the checksum line added."""
    return content + b"%b %08x\n" % (word, crc32c(content))


def content_of(data: bytes, word: bytes = _WORD) -> bytes | None:
    """Return the content before the last checksum line; None if there is no such line.

    Raise ValueError if the checksum does not match.
    """
    content, found, checksum = data.rpartition(word + b" ")
    if not found:
        return None
    if checksum != b"%08x\n" % crc32c(content):
        raise ValueError("its checksum does not fit")
    return content


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; the last one may end without a line feed.

    Only a line feed ends a line: `str.splitlines` accepts nine other characters, one of which is a line feed with one
    bit flipped.
    """
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def checked_line(body: bytes, separator: bytes = b" ") -> bytes:
    """Return a line that has the checksum, the separator (one byte) and the body, in which there is no line feed."""
    return b"%08x%b%b\n" % (crc32c(body), separator, body)


def line_body(line: bytes, separator: bytes = b" ") -> bytes | None:
    """Return the text behind the checksum of a line (without its line feed); None if the checksum does not match."""
    body = line[_DIGITS + 1 :]
    return body if line[: _DIGITS + 1] == b"%08x%b" % (crc32c(body), separator) else None
