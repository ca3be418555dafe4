"""The link of a process that can be stopped: network input waits until it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import BrokerAddress, Link, LinkFailure, Purpose
from shareq.protocol.primitives import Message


class ProcessLink:
    """A `Link` over another one. `deliver` calls back at once, or when the process resumes."""

    def __init__(self, link: Link, deliver: Callable[[Callable[[], None]], None]) -> None:
        self._link = link
        self._deliver = deliver

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
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
        answer: Pending[Message | LinkFailure] = Pending()
        sent = self._link.send(
            node,
            message,
            purpose=purpose,
            timeout_ms=timeout_ms,
            min_version=min_version,
            max_version=max_version,
            lane=lane,
        )
        sent.on_complete(lambda value: self._deliver(lambda: answer.complete(value)))
        return answer

    def offers(self, node: int | None, api_key: int) -> int | None:
        return self._link.offers(node, api_key)

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None:
        self._link.on_lost(lambda node, purpose: self._deliver(lambda: listener(node, purpose)))

    def close(self) -> None:
        self._link.close()
