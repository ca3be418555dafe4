"""A link that counts requests by the purpose of their connections, for the metrics of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.foundation.durations import Durations
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import BrokerAddress, Failure, Link, LinkFailure, Purpose
from shareq.protocol.primitives import Message


class Counts:
    """The requests of one purpose: the durations of those that were answered, and the failures of the others."""

    __slots__ = ("answered", "failed", "under_way")

    def __init__(self) -> None:
        self.answered = Durations()
        self.failed = dict.fromkeys(Failure, 0)
        self.under_way = 0


class CountedLink:
    """A `Link` that passes requests on to another one, and counts them. `lost` counts open connections that ended."""

    def __init__(self, clock: Clock, link: Link) -> None:
        self.counts: Final[Mapping[Purpose, Counts]] = {purpose: Counts() for purpose in Purpose}
        self.lost = dict.fromkeys(Purpose, 0)
        self._now_ns: Final = clock.now_ns
        self._link: Final = link
        self.offers: Final = link.offers
        self.on_lost: Final = link.on_lost
        self.close: Final = link.close
        link.on_lost(self._note_lost)

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
        """The addresses of the known brokers, by node id."""
        return self._link.brokers

    def send(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        lane: int = 0,
    ) -> Pending[Message | LinkFailure]:
        """Send a request, and count its answer or its failure."""
        counts, began_ns = self.counts[purpose], self._now_ns()
        counts.under_way += 1

        def ended(outcome: Message | LinkFailure) -> None:
            counts.under_way -= 1
            if isinstance(outcome, LinkFailure):
                counts.failed[outcome.failure] += 1
            else:
                counts.answered.add(self._now_ns() - began_ns)

        answer = self._link.send(
            node,
            message,
            purpose=purpose,
            timeout_ms=timeout_ms,
            min_version=min_version,
            max_version=max_version,
            lane=lane,
        )
        answer.on_complete(ended)
        return answer

    def _note_lost(self, _node: int, purpose: Purpose) -> None:
        self.lost[purpose] += 1
