"""A share-group member that acknowledges at random, loses its connection, and holds records too long."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.share import AcknowledgeType
from tests.campaign.order_kills.judge import ACCEPT, REJECT, Place

RELEASE: Final = AcknowledgeType.RELEASE
HEARTBEAT_S: Final = 1.0
TIMEOUT_S: Final = 5.0


class Witness(Protocol):
    """An observer of members' deliveries and acknowledgements, called in their threads."""

    def delivered(self, member: str, place: Place, count: int, now_s: float, until_s: float) -> None:
        """Observe the `count`-th delivery of a record to the member."""

    def sends(self, place: Place, kind: int) -> None:
        """Observe that the member acknowledges a record that it holds."""

    def answered(self, place: Place, kind: int, accepted: bool) -> None:
        """Observe the broker's answer to an acknowledgement."""

    def lost(self, member: str) -> None:
        """Observe the loss of the member's connection."""


class Member(threading.Thread):
    """A member. It fetches all `partitions` of the topic, assigned or not, at `address`, until `stop` is set."""

    def __init__(
        self,
        name: str,
        address: Callable[[], tuple[str, int]],
        topic: tuple[str, bytes, int],
        group: str,
        judge: Witness,
        lock_s: float,
        seed: int,
        stop: threading.Event,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._address, self._group, self._judge, self._lock_s, self._over = address, group, judge, lock_s, stop
        self._topic, self._topic_id, self._partitions = topic
        self.rng = random.Random(f"{seed} {name}")
        self._client: WireClient | None = None
        self._member_epoch, self._session_epoch, self._beat_at = 0, 0, 0.0
        self.draining = False
        self.failure = ""

    def drain(self) -> None:
        self.draining = True

    def run(self) -> None:
        while not self._over.is_set():
            try:
                self._turn()
            except (OSError, ConnectionClosed):
                self._drop()
                time.sleep(0.05)
            except Exception as error:  # the campaign reports it
                self.failure = f"{self.name}: {type(error).__name__}: {error}"
                return
        self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client, self._session_epoch, self._beat_at = None, 0, 0.0
        self._judge.lost(self.name)

    def _turn(self) -> None:
        if self._client is None:
            self._client = WireClient(self._address(), timeout_s=TIMEOUT_S)
        if time.monotonic() - self._beat_at > HEARTBEAT_S:
            self._heartbeat(self._client)
        held = self._fetch(self._client)
        if held is None:
            return
        kinds = {place: self.verdict(place) for place in held}
        said = {place: kind for place, kind in kinds.items() if kind is not None}
        if self.rng.random() < 0.01 and not self.draining:
            self._drop()
        elif said:
            self._acknowledge(self._client, said)

    def verdict(self, place: Place) -> int | None:
        """Return the acknowledgement of a record. Some records fail for every member.

        None: the member holds the record until the lock expires.
        """
        if place[1] % 97 == 0:
            return RELEASE
        if self.draining:
            return ACCEPT
        chance = self.rng.random()
        return None if chance < 0.004 else RELEASE if chance < 0.1 else REJECT if chance < 0.15 else ACCEPT

    def _heartbeat(self, client: WireClient) -> None:
        topics = [self._topic] if self._member_epoch == 0 else None
        request = ShareGroupHeartbeatRequest(self._group, self.name, self._member_epoch, None, topics)
        answer = client.call(request, 1, ShareGroupHeartbeatResponse)
        if answer.error_code == ErrorCode.NONE:
            self._member_epoch, self._beat_at = answer.member_epoch, time.monotonic()
        else:
            self._member_epoch = 0

    def _fetch(self, client: WireClient) -> list[Place] | None:
        """Return the acquired places; None if the session must be reopened, or the connection was dropped."""
        opens = self._session_epoch == 0
        partitions = [share_fetch.FetchPartition(number, []) for number in range(self._partitions)] if opens else []
        topics = [share_fetch.FetchTopic(self._topic_id, partitions)] if opens else []
        most, began = self.rng.choice((1, 5, 50, 500)), time.monotonic()
        client.send(
            ShareFetchRequest(
                self._group, self.name, self._session_epoch, 200, 1, 1 << 20, most, most,
                share_acquire_mode=self.rng.choice((0, 1)), topics=topics,
            ),
            2,
        )  # fmt: skip
        if self.rng.random() < 0.005 and not self.draining:
            self._drop()
            return None
        answer = client.receive()
        assert isinstance(answer, ShareFetchResponse)
        if answer.error_code != ErrorCode.NONE:
            self._session_epoch = 0
            self._judge.lost(self.name)
            return None
        self._session_epoch += 1
        acquired: list[Place] = []
        for topic in answer.responses:
            for row in topic.partitions:
                for each in row.acquired_records:
                    for offset in range(each.first_offset, each.last_offset + 1):
                        place = (row.partition_index, offset)
                        acquired.append(place)
                        count, now = each.delivery_count, time.monotonic()
                        self._judge.delivered(self.name, place, count, now, began + self._lock_s)
        return acquired

    def _acknowledge(self, client: WireClient, said: dict[Place, int]) -> None:
        by_partition: dict[int, list[share_acknowledge.AcknowledgementBatch]] = {}
        for (partition, offset), kind in sorted(said.items()):
            row = share_acknowledge.AcknowledgementBatch(offset, offset, [kind])
            by_partition.setdefault(partition, []).append(row)
        rows = [share_acknowledge.AcknowledgePartition(number, acks) for number, acks in by_partition.items()]
        topics = [share_acknowledge.AcknowledgeTopic(self._topic_id, rows)]
        for place, kind in said.items():
            self._judge.sends(place, kind)
        request = ShareAcknowledgeRequest(self._group, self.name, self._session_epoch, False, topics)
        answer = client.call(request, 2, ShareAcknowledgeResponse)
        if answer.error_code != ErrorCode.NONE:
            self._session_epoch = 0
            self._judge.lost(self.name)
            return
        self._session_epoch += 1
        errors = {row.partition_index: row.error_code for topic in answer.responses for row in topic.partitions}
        for place, kind in said.items():
            self._judge.answered(place, kind, errors[place[0]] == ErrorCode.NONE)
