"""The headers by which a redrive marks a record that it sends back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.protocol.names import REDRIVE_PREFIX

_MOST_DIGITS: Final = 19


class SentBack(NamedTuple):
    """The letter from which a record was made: its `offset` in a partition of the queue; how many `times` it was sent
    back, this one included; the redrive's `name`; the `group` in which it died. None where the headers do not say.
    """

    queue: str
    partition: int
    offset: int
    times: int | None
    name: str | None
    group: str | None

    def __str__(self) -> str:
        """Return text for people, such as: sent back from dlq.orders-0:42, 2nd time."""
        times = "" if self.times is None else f", {_ordinal(self.times)} time"
        return f"sent back from {self.queue}-{self.partition}:{self.offset}{times}"


def sent_back(headers: Sequence[tuple[str, bytes | None]]) -> SentBack | None:
    """Read the trace of a redrive; None if the record has none, or its headers do not name the letter."""
    texts = {
        name.removeprefix(REDRIVE_PREFIX): value.decode("utf-8", "replace")
        for name, value in headers
        if value is not None and name.startswith(REDRIVE_PREFIX)
    }
    queue, partition, offset = (
        texts.get("queue.topic"),
        _number(texts, "queue.partition"),
        _number(texts, "queue.offset"),
    )
    if not queue or partition is None or offset is None:
        return None
    return SentBack(queue, partition, offset, _number(texts, "count"), texts.get("name"), texts.get("group"))


def _number(texts: dict[str, str], name: str) -> int | None:
    text = texts.get(name, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS else None


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
