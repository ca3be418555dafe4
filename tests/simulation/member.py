"""A share-group member of the simulation: heartbeats, fetches, acknowledges well and badly, loses its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.generated.share_fetch import (
    FetchPartition,
    FetchTopic,
    PartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import batch_headers, decode_records
from tests.simulation.ledger import InvariantBroken, Place

if TYPE_CHECKING:
    from tests.simulation.world import World

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
LOCK_MS: Final = 1_000

# Errors that say that the acknowledgement had no effect; with any other the outcome is not known.
REFUSALS: Final = frozenset((ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST))
SESSION_LOST: Final = frozenset((ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH))


class Member:
    """One client. At most one request of the share session is under way at a time."""

    def __init__(self, world: World, member_id: str) -> None:
        self.world = world
        self.id = member_id
        self.connection = world.connect()
        self.member_epoch = 0
        self.session_epoch = 0
        self.busy = False
        self.life = 0  # answers to requests of an earlier one are not for us any more
        self.held: list[Place] = []
        self.assigned: list[int] = []

    # -- what it does of itself

    def act(self) -> None:
        """Something at random that a client may do now."""
        rng = self.world.rng
        if self.member_epoch == 0 or rng.random() < 0.1:
            self.heartbeat()
        if self.busy or not self.assigned:
            return
        action = rng.random()
        if self.session_epoch == 0 or action < 0.4:
            self.fetch()
        elif action < 0.88:
            self.acknowledge()
        elif action < 0.92:
            self.acknowledge_badly()
        elif action < 0.96:
            self.close_session()
        else:
            self.disconnect()

    def heartbeat(self) -> None:
        """Join, or stay."""
        joining = self.member_epoch == 0
        names = ["topic"] if joining else None
        request = ShareGroupHeartbeatRequest("group", self.id, self.member_epoch, None, names)
        life = self.life

        def answered(response: Message) -> None:
            assert isinstance(response, ShareGroupHeartbeatResponse)
            if life != self.life:
                return
            self.world.note(f"{self.id} heartbeat: {ErrorCode(response.error_code).name} {response.member_epoch}")
            if response.error_code != ErrorCode.NONE:
                self.member_epoch = 0
                return
            if response.member_epoch < self.member_epoch:
                raise InvariantBroken(f"{self.id}: member epoch {self.member_epoch} became {response.member_epoch}")
            self.member_epoch = response.member_epoch
            if response.assignment is not None:
                self.assigned = [p for topic in response.assignment.topic_partitions for p in topic.partitions]

        self.world.call("share_group_heartbeat", request, 1, self.connection).on_complete(answered)

    def fetch(self, max_wait_ms: int | None = None, max_records: int | None = None) -> None:
        """ShareFetch; fetches every partition of the topic, assigned or not: the leader does not ask."""
        rng = self.world.rng
        opening = self.session_epoch == 0
        topics = [FetchTopic(self.world.topic_id, [FetchPartition(0), FetchPartition(1)])] if opening else []
        request = ShareFetchRequest(
            group_id="group",
            member_id=self.id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=rng.choice((0, 100, 2_000)) if max_wait_ms is None else max_wait_ms,
            min_bytes=1,
            max_bytes=rng.choice((1, 400, 1 << 20)),
            max_records=rng.choice((1, 3, 10, 500)) if max_records is None else max_records,
            batch_size=rng.choice((1, 5, 500)),
            share_acquire_mode=self.world.mode,
            topics=topics,
        )
        life, self.busy = self.life, True

        def answered(response: Message) -> None:
            assert isinstance(response, ShareFetchResponse)
            if life != self.life:
                return
            self.busy = False
            self._on_fetched(response)

        self.world.call("share_fetch", request, 2, self.connection).on_complete(answered)

    def _on_fetched(self, response: ShareFetchResponse) -> None:
        if response.error_code in SESSION_LOST:
            self.session_epoch = 0
            return
        if response.error_code != ErrorCode.NONE:
            raise InvariantBroken(f"{self.id}: fetch failed with {ErrorCode(response.error_code).name}")
        self.session_epoch += 1
        for topic in response.responses:
            for row in topic.partitions:
                self._on_partition(row)

    def _on_partition(self, row: PartitionData) -> None:
        world = self.world
        assert row.records is not None
        values = {}
        for position, header in batch_headers(row.records):
            data = bytes(row.records[position : position + header.size])
            values.update({record.offset: record.value for record in decode_records(data)})
        for acquired in row.acquired_records:
            world.note(
                f"{self.id} got {row.partition_index}:{acquired.first_offset}-{acquired.last_offset}"
                f" x{acquired.delivery_count}"
            )
            now = world.clock.now_ms()
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                place = (row.partition_index, offset)
                if offset not in values:
                    raise InvariantBroken(f"{place} was acquired and is not among the records of the answer")
                world.ledger.on_delivered(self.id, place, acquired.delivery_count, values[offset], now, now + LOCK_MS)
                self.held.append(place)

    def acknowledge(self, *, everything: bool = False) -> None:
        """ShareAcknowledge for some of what it holds, or thinks it holds."""
        rng = self.world.rng
        if not self.held:
            return
        chosen = [place for place in sorted(set(self.held)) if everything or rng.random() < 0.7]
        kinds = (ACCEPT,) if everything else rng.choice(((ACCEPT,), (ACCEPT, RELEASE, REJECT), (RELEASE,), (RENEW,)))
        acks = {place: rng.choice(kinds) for place in chosen}
        if acks:
            self._send_acks(acks)

    def acknowledge_badly(self) -> None:
        """What another member holds: it must be refused."""
        world = self.world
        now = world.clock.now_ms()
        others = [p for p, hold in world.ledger.holds.items() if hold.member_id != self.id and now < hold.deadline_ms]
        if others:
            self._send_acks(
                {world.rng.choice(sorted(others)): world.rng.choice((ACCEPT, RELEASE, REJECT))}, honest=False
            )

    def _send_acks(self, acks: dict[Place, int], *, honest: bool = True) -> None:
        world = self.world
        partitions = [
            AcknowledgePartition(partition, batches)
            for partition in (0, 1)
            if (batches := _batches({offset: kind for (p, offset), kind in acks.items() if p == partition}))
        ]
        request = ShareAcknowledgeRequest(
            "group", self.id, self.session_epoch, RENEW in acks.values(), [AcknowledgeTopic(world.topic_id, partitions)]
        )
        if honest:
            for place, kind in acks.items():
                world.ledger.on_sent(place, kind in (ACCEPT, REJECT), kind == RENEW)
            self.held = [place for place in self.held if acks.get(place, RENEW) == RENEW]
        life, self.busy, sent_at = self.life, True, world.clock.now_ms()
        world.note(f"{self.id} acks {acks}")

        def answered(response: Message) -> None:
            assert isinstance(response, ShareAcknowledgeResponse)
            if life != self.life:
                return
            self.busy = False
            self._on_acknowledged(response, acks, sent_at, honest=honest)

        world.call("share_acknowledge", request, 2, self.connection).on_complete(answered)

    def _on_acknowledged(
        self, response: ShareAcknowledgeResponse, acks: dict[Place, int], sent_at: int, *, honest: bool
    ) -> None:
        if response.error_code in SESSION_LOST:
            self.session_epoch = 0
            return
        if response.error_code != ErrorCode.NONE:
            raise InvariantBroken(f"{self.id}: acknowledge failed with {ErrorCode(response.error_code).name}")
        self.session_epoch += 1
        ledger = self.world.ledger
        errors = {row.partition_index: ErrorCode(row.error_code) for row in response.responses[0].partitions}
        self.world.note(f"{self.id} acked: {[error.name for error in errors.values()]}")
        for place, kind in acks.items():
            error = errors[place[0]]
            if not honest:
                if error is ErrorCode.NONE and place[1] >= self.world.start_offset(place[0]):
                    raise InvariantBroken(f"{self.id} acknowledged {place}, which another member holds")
            elif error is ErrorCode.NONE and kind == RENEW:
                ledger.on_renewed(place, self.id, sent_at + LOCK_MS)
            elif error is ErrorCode.NONE:
                ledger.on_acknowledged(place, kind in (ACCEPT, REJECT))
            elif error in REFUSALS and kind in (ACCEPT, REJECT):
                ledger.on_refused(place)

    def close_session(self) -> None:
        """The final epoch: what it holds is given back."""
        self.world.note(f"{self.id} closes its session")
        request = ShareAcknowledgeRequest("group", self.id, -1)
        self.world.ledger.on_given_back(self.id)
        self.held, self.session_epoch = [], 0
        self.life += 1
        self.busy = False
        self.world.call("share_acknowledge", request, 2, self.connection)

    def disconnect(self) -> None:
        """The connection goes, and another one comes."""
        self.world.note(f"{self.id} loses its connection")
        self.world.ledger.on_given_back(self.id)
        self._forget()
        self.connection.lost()
        self.connection = self.world.connect()

    def on_broker_lost(self) -> None:
        """The broker died or stopped: answers that were on their way are lost."""
        self._forget()
        self.connection = self.world.connect()

    def _forget(self) -> None:
        self.life += 1
        self.busy = False
        self.held, self.session_epoch = [], 0

    def drain_once(self) -> bool:
        """Take what there is and accept it; whether there was something."""
        if self.member_epoch == 0:
            self.heartbeat()
            self.world.settle()
        before = self.world.ledger.deliveries
        if not self.busy:
            self.fetch(max_wait_ms=0, max_records=500)
            self.world.settle()
        if self.held and not self.busy:
            self.acknowledge(everything=True)
            self.world.settle()
        return self.world.ledger.deliveries > before


def _batches(acks: dict[int, int]) -> list[AcknowledgementBatch]:
    """Runs of adjacent offsets, each with one type for all or a type per offset."""
    runs: list[tuple[int, list[int]]] = []
    for offset in sorted(acks):
        if runs and runs[-1][0] + len(runs[-1][1]) == offset:
            runs[-1][1].append(acks[offset])
        else:
            runs.append((offset, [acks[offset]]))
    return [
        AcknowledgementBatch(first, first + len(types) - 1, types[:1] if len(set(types)) == 1 else types)
        for first, types in runs
    ]
