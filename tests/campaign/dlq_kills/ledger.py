"""The ledger of one group with a dead-letter queue: its members' deliveries and acknowledgements, and their rules."""

from __future__ import annotations

import threading
from collections import Counter

from tests.campaign.order_kills.judge import ACCEPT, ENDS, REJECT, Place


class Ledger:
    """A `Witness` of one group. `broken` has the faults.

    `accepted`, `rejected`: answered without an error. `open`: an end of this kind was sent and its outcome is unknown;
    a record delivered after that has not ended. `counts`: the most deliveries that a member saw; `handed_out`: the most
    that the broker made, also in lost answers.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.accepted: set[Place] = set()
        self.rejected: set[Place] = set()
        self.reject_sent: set[Place] = set()
        self.open: dict[Place, int] = {}
        self.counts: dict[Place, int] = {}
        self.handed_out: dict[Place, int] = {}
        self.seen: Counter[str] = Counter()
        self.broken: list[str] = []

    def delivered(self, member: str, place: Place, count: int, now_s: float, until_s: float) -> None:
        with self._lock:
            self.seen["deliveries"] += 1
            self.seen["redeliveries"] += place in self.counts
            self.counts[place] = max(count, self.counts.get(place, 0))
            self.open.pop(place, None)
            if place in self.accepted or place in self.rejected:
                end = "accepted" if place in self.accepted else "rejected"
                self.broken.append(f"{place} came to {member} after the answer that it is {end}")

    def has_handed_out(self, place: Place, count: int) -> None:
        self.handed_out[place] = max(count, self.handed_out.get(place, 0))

    def sends(self, place: Place, kind: int) -> None:
        with self._lock:
            if kind in ENDS:
                self.open[place] = kind
            if kind == REJECT:
                self.reject_sent.add(place)

    def answered(self, place: Place, kind: int, accepted: bool) -> None:
        with self._lock:
            self.seen["acknowledgements"] += 1
            self.seen["acknowledgements refused"] += not accepted
            if kind not in ENDS:
                return
            self.open.pop(place, None)
            if accepted:
                (self.accepted if kind == ACCEPT else self.rejected).add(place)

    def lost(self, member: str) -> None:
        """Record that the member's connection is lost, which releases its records; no rule here needs it."""
