"""ISO 8601 durations, as java.time.Duration reads them."""

from __future__ import annotations

import re
from typing import Final

from shareq.protocol.config_def import LONG_MAX

# Days, then T and hours, minutes, seconds with up to nine decimals.
_DURATION: Final = (
    r"(?P<sign>[+-])?P(?:(?P<days>[+-]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?(?:(?P<seconds>[+-]?\d+)(?:[.,](?P<fraction>\d{0,9}))?S)?)?"
)
_LONGEST_DURATION_TEXT: Final = 100


def duration_ms(text: str) -> int:
    """Return a duration in milliseconds. Raises ValueError unless the text is a duration of 64 bits that is not
    negative.
    """
    match = re.fullmatch(_DURATION, text, re.IGNORECASE | re.ASCII) if len(text) <= _LONGEST_DURATION_TEXT else None
    if match is None or match["time"] in ("T", "t") or (match["days"] is None and match["time"] is None):
        raise ValueError(text)
    seconds = 86_400 * int(match["days"] or 0) + 3_600 * int(match["hours"] or 0)
    seconds += 60 * int(match["minutes"] or 0) + int(match["seconds"] or 0)
    millis = int((match["fraction"] or "").ljust(9, "0")) // 1_000_000
    negative_seconds = (match["seconds"] or "").startswith("-")
    total = seconds * 1000 + (-millis if negative_seconds else millis)
    total = -total if match["sign"] == "-" else total
    if not 0 <= total <= LONG_MAX:
        raise ValueError(text)
    return total
