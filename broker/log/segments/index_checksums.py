"""`<base offset>.checksums`: the CRC-32C of each index file of a segment, since these files contain no checksum.
Pure.

    index 9a7c21f0
    timeindex 0d4f1e33
    txnindex 5e01bb7a
    checksums 71c0a2ff

Each line: a file's suffix without its dot, and the CRC in 8 hexadecimal digits; only files that exist are listed.
The last line covers the lines before it. Apache Kafka does not know the file, and ignores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.foundation.checked_text import content_of, lines_of, with_checksum

CHECKSUMS_SUFFIX: Final = ".checksums"

_OWN: Final = b"checksums"


def format_checksums(checksums: Mapping[str, int]) -> bytes:
    """Return the file's content, from the CRC of each index file by suffix (".index")."""
    lines = "".join(f"{suffix[1:]} {crc:08x}\n" for suffix, crc in sorted(checksums.items()))
    return with_checksum(lines.encode(), _OWN)


def parse_checksums(data: bytes) -> dict[str, int]:
    """Return the CRC of each index file by suffix. Raise ValueError if the content does not have the form of
    `format_checksums`.
    """
    content = content_of(data, _OWN)
    if content is None:
        raise ValueError("its own checksum is missing")
    try:
        rows = (line.partition(" ") for line in lines_of(content.decode("ascii")))
        return {f".{name}": int(crc, 16) for name, _, crc in rows}
    except ValueError as error:
        raise ValueError("its lines are not names and checksums") from error
