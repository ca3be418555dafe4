"""Members of share groups that send frames: they join, fetch, acknowledge in every way, and sometimes never do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.records.batch import batch_headers, decode_records
from tests.campaign.history.operations import Ack, Acknowledged, AckType, Acquired, Delivery, Departed, Outcome, Place
from tests.campaign.storage.links import Cut
from tests.campaign.storage.scene import GROUP_TOPICS, Process, Scene

HEARTBEAT_NS: Final = 800_000_000
_REJOIN: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})


@dataclass(slots=True)
class _Session:
    epoch: int = 0
    places: set[Place] = field(default_factory=set)

    def reset(self) -> None:
        self.epoch = 0
        self.places.clear()


class ShareMember(Process):
    """A member of a share group. It accepts, releases or rejects each record, or keeps it until its lock times out."""

    KEEPS: Final = 0.03

    def __init__(self, scene: Scene, name: str, group: str) -> None:
        super().__init__(scene, name)
        self.group = group
        self._incarnation = 0
        self._member_epoch = 0
        self._beat_at = 0
        self._alive_at = 0
        self.session = _Session()
        self.assigned: list[Place] = []
        self.rows: dict[Place, ErrorCode] = {}
        """The partitions in the answer to the last fetch. One that opens a session names each that was looked at."""
        self._open: list[Ack] = []
        """Answers that go with the next fetch."""
        self._gaps: list[Ack] = []

    @property
    def member(self) -> str:
        return f"{self.name}-{self._incarnation}"

    def on_cut(self) -> None:
        self.scene.recorder.ok(self.name, self.now(), Departed(self.group, self.member))
        self.session.reset()
        self._open.clear()
        self._gaps.clear()
        self._beat_at = 0

    def step(self) -> None:
        if self.now() - self._beat_at > HEARTBEAT_NS:
            self.heartbeat()
        if not self.assigned:
            self.pause(0.03)
            self._beat_at = 0
            return
        deliveries = self.fetch(self.assigned, self.rng.choice((1, 5, 20, 50)), self.rng.choice((0, 20, 50)))
        acks = [answer for answer in map(self.answer_to, deliveries) if answer is not None] + self.gaps()
        if self.rng.random() < 0.5:
            self._open = acks
        elif acks:
            self.acknowledge(acks)
        self.pause(0.01)

    def at_end(self) -> None:
        if self._open:
            acks, self._open = self._open, []
            self.acknowledge(acks)
        self.leave()

    # -- membership

    def heartbeat(self) -> None:
        joining = self._member_epoch == 0
        topics = [plan.name for plan in GROUP_TOPICS[self.group]] if joining else None
        invoked = self.now()
        response = self._beat(self._member_epoch, topics)
        error = ErrorCode(response.error_code)
        if error in _REJOIN:
            # It was removed at some time since its last heartbeat, and what it held was free from then on.
            self.scene.recorder.ok(self.name, self._alive_at, Departed(self.group, self.member))
            self._member_epoch, self.assigned = 0, []
            self._incarnation += 1
            self.session.reset()
        elif error is ErrorCode.NONE:
            self._member_epoch = response.member_epoch
            self._beat_at, self._alive_at = self.now(), invoked
            if response.assignment is not None:
                self.assigned = [
                    Place(topic.topic_id.hex(), partition)
                    for topic in response.assignment.topic_partitions
                    for partition in topic.partitions
                ]

    def leave(self) -> None:
        self._beat(-1, None)
        self.scene.recorder.ok(self.name, self.now(), Departed(self.group, self.member))
        self._member_epoch, self.assigned = 0, []
        self._incarnation += 1
        self.session.reset()
        self.link.drop()

    def _beat(self, epoch: int, topics: list[str] | None) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(self.group, self.member, epoch, None, topics)
        return self.link.call(request, 1, ShareGroupHeartbeatResponse)

    # -- records

    def answer_to(self, delivery: Delivery) -> Ack | None:
        """Return the acknowledgement of a delivery; None if the member keeps the record until its lock times out."""
        chance = self.rng.random()
        if chance < self.KEEPS:
            return None
        kind = AckType.RELEASE if chance < 0.15 else AckType.REJECT if chance < 0.22 else AckType.ACCEPT
        return Ack(delivery.place, delivery.offset, kind)

    def gaps(self) -> list[Ack]:
        """Return acknowledgements of acquired offsets without a record: markers, and compacted records."""
        gaps, self._gaps = self._gaps, []
        return gaps

    def fetch(self, places: Sequence[Place], max_records: int, max_wait_ms: int) -> list[Delivery]:
        acks, self._open = self._open, []
        if self.session.epoch == 0 and acks:
            self.acknowledged(self.now(), acks, Outcome.INFO)  # the session they belong to is gone
            acks = []
        request = self._fetch_request(places, acks, max_records, max_wait_ms)
        invoked = self.now()
        try:
            response = self.link.call(request, 2, ShareFetchResponse)
        except Cut:
            self.acknowledged(invoked, acks, Outcome.INFO)
            self.scene.recorder.add(self.name, invoked, Outcome.INFO, Acquired(self.group, self.member, ()))
            raise
        return self._fetched(invoked, acks, response)

    def _fetch_request(
        self, places: Sequence[Place], acks: Sequence[Ack], max_records: int, max_wait_ms: int
    ) -> ShareFetchRequest:
        added = {place for place in places if place not in self.session.places}
        forgotten = [place for place in self.session.places if place not in places]
        self.session.places = set(places)
        return ShareFetchRequest(
            self.group,
            self.member,
            self.session.epoch,
            max_wait_ms,
            1,
            1 << 20,
            max_records,
            max_records,
            topics=[
                share_fetch.FetchTopic(
                    bytes.fromhex(place.topic),
                    [
                        share_fetch.FetchPartition(
                            place.partition,
                            [
                                share_fetch.AcknowledgementBatch(ack.offset, ack.offset, [ack.type.value])
                                for ack in sorted(acks, key=lambda each: each.offset)
                                if ack.place == place
                            ],
                        )
                    ],
                )
                for place in sorted(added | {ack.place for ack in acks})
            ],
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(bytes.fromhex(place.topic), [place.partition]) for place in forgotten
            ],
        )

    def _fetched(self, invoked: int, acks: Sequence[Ack], response: ShareFetchResponse) -> list[Delivery]:
        parts = {
            Place(topic.topic_id.hex(), part.partition_index): part
            for topic in response.responses
            for part in topic.partitions
        }
        self.rows = {place: ErrorCode(part.error_code) for place, part in parts.items()}
        for place in {ack.place for ack in acks}:
            own = [ack for ack in acks if ack.place == place]
            part = parts.get(place)
            done = not response.error_code and part is not None and not part.acknowledge_error_code
            self.acknowledged(invoked, own, Outcome.OK if done else Outcome.INFO)
        if response.error_code:
            self.session.reset()
            return []
        self.session.epoch += 1
        deliveries = [one for place, part in parts.items() for one in deliveries_of(place, part)]
        self._gaps += [Ack(one.place, one.offset, AckType.GAP) for one in deliveries if one.value is None]
        deliveries = [one for one in deliveries if one.value is not None]
        if deliveries:
            self.scene.recorder.ok(self.name, invoked, Acquired(self.group, self.member, tuple(deliveries)))
        for place, part in parts.items():
            if part.error_code:
                self.session.places.discard(place)  # it is added again, while it is assigned
        return deliveries

    def acknowledge(self, acks: Sequence[Ack]) -> None:
        for place in sorted({ack.place for ack in acks}):
            self._acknowledge(place, [ack for ack in acks if ack.place == place])

    def _acknowledge(self, place: Place, acks: Sequence[Ack]) -> None:
        batches = [
            share_acknowledge.AcknowledgementBatch(ack.offset, ack.offset, [ack.type.value])
            for ack in sorted(acks, key=lambda each: each.offset)
        ]
        topic = share_acknowledge.AcknowledgeTopic(
            bytes.fromhex(place.topic), [share_acknowledge.AcknowledgePartition(place.partition, batches)]
        )
        request = ShareAcknowledgeRequest(self.group, self.member, self.session.epoch, False, [topic])
        invoked = self.now()
        try:
            response = self.link.call(request, 2, ShareAcknowledgeResponse)
        except Cut:
            self.acknowledged(invoked, acks, Outcome.INFO)
            raise
        errors = [part.error_code for each in response.responses for part in each.partitions]
        done = not response.error_code and errors == [0]
        self.acknowledged(invoked, acks, Outcome.OK if done else Outcome.INFO)
        if response.error_code:
            self.session.reset()
        else:
            self.session.epoch += 1

    def acknowledged(self, invoked: int, acks: Sequence[Ack], outcome: Outcome) -> None:
        if acks:
            value = Acknowledged(self.group, self.member, tuple(acks))
            self.scene.recorder.add(self.name, invoked, outcome, value)


def deliveries_of(place: Place, part: PartitionData) -> list[Delivery]:
    """Return a share fetch's deliveries from one partition, each with its record's value, None without a record."""
    values: dict[int, str] = {}
    data = bytes(part.records or b"")
    for at, header in batch_headers(data):
        if not header.is_control:
            for record in decode_records(data[at : at + header.size]):
                values[record.offset] = (record.value or b"").partition(b"|")[0].decode(errors="replace")
    return [
        Delivery(place, offset, one.delivery_count, values.get(offset))
        for one in part.acquired_records
        for offset in range(one.first_offset, one.last_offset + 1)
    ]
