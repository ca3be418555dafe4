"""The ledger of clients' answers, and the rules that follow from them.

confirmed              not delivered again, except by a deposed node while its lease may last, and nothing that it
                       delivers then is confirmed
in the log in the end  acknowledged by a consumer, or archived at the delivery limit
epochs of leaders      each epoch has one leader
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
TERMINAL: Final = (ACCEPT, REJECT)


class Broken(AssertionError):
    """An error: a rule was broken."""


class Place(NamedTuple):
    topic_id: bytes
    partition: int


class Delivery(NamedTuple):
    group: str
    place: Place
    offset: int
    value: bytes | None
    node_id: int
    member_id: str
    deliveries: int
    at_ms: int


class Ack(NamedTuple):
    """A client's answer to a delivery: accept, release or reject."""

    delivery: Delivery
    kind: int

    @property
    def offset(self) -> int:
        return self.delivery.offset


LATENCY_MS: Final = 5
"""The longest time from a node's decision until its client learns of it."""

Key = tuple[str, Place, int]


class Ledger:
    """The ledger of a world.

    `may_repeat` returns True if a node may still deliver a record that it does not know as done.
    """

    def __init__(
        self, now_ms: Callable[[], int], may_repeat: Callable[[Delivery], bool], happened: Counter[str]
    ) -> None:
        self._now_ms = now_ms
        self._may_repeat = may_repeat
        self._happened = happened
        self.done: dict[Key, int] = {}  # when it was confirmed
        self.tried: set[Key] = set()  # accepted or rejected, confirmed or not
        self.most_deliveries: dict[Key, int] = defaultdict(int)
        self.lenient: set[tuple[Place, int]] = set()  # other records were here, and were lost
        self.values: dict[tuple[Place, int], bytes] = {}
        self.leaders: dict[tuple[Place, int], int] = {}  # by epoch

    def led(self, place: Place, epoch: int, node_id: int) -> None:
        other = self.leaders.setdefault((place, epoch), node_id)
        if other != node_id:
            raise Broken(f"{place} is led by nodes {other} and {node_id} in epoch {epoch}")

    def delivered(self, delivery: Delivery) -> None:
        place, offset = delivery.place, delivery.offset
        key = (delivery.group, place, offset)
        self._happened["deliveries"] += 1
        self.most_deliveries[key] = max(self.most_deliveries[key], delivery.deliveries)
        if delivery.value is None:
            raise Broken(f"{delivery}: acquired, and its record did not come")
        known = self.values.setdefault((place, offset), delivery.value)
        if known != delivery.value and (place, offset) not in self.lenient:
            raise Broken(f"{delivery}: it was {known!r} before")
        if key in self.done and self.done[key] < self._now_ms() - LATENCY_MS and (place, offset) not in self.lenient:
            if not self._may_repeat(delivery):
                raise Broken(f"{delivery}: again, {self._now_ms() - self.done[key]} ms after it was confirmed")
            self._happened["deliveries of deposed nodes"] += 1

    def sent(self, group: str, acks: Mapping[Place, Iterable[Ack]]) -> None:
        """Record sent acknowledgements, which may take effect from now on."""
        for place, rows in acks.items():
            self.tried.update((group, place, ack.offset) for ack in rows if ack.kind in TERMINAL)

    def confirmed(self, place: Place, acks: Iterable[Ack]) -> None:
        for ack in acks:
            if ack.kind not in TERMINAL:
                continue
            key = (ack.delivery.group, place, ack.offset)
            self._happened["confirmed"] += 1
            if key not in self.done or (place, ack.offset) in self.lenient:
                self.done[key] = self._now_ms()
            elif ack.delivery.at_ms > self.done[key] + LATENCY_MS:
                raise Broken(f"{ack}: confirmed a second time")
            else:  # two had it at once, and the first of them was done with it
                self._happened["confirmed below the start offset"] += 1

    def cut(self, place: Place, begin: int, end: int) -> None:
        """Expect nothing of these offsets: an election lost confirmed records there."""
        self.lenient.update((place, offset) for offset in range(begin, end))
