"""A share-group member of the simulation: it fetches, acknowledges well and badly, loses its connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import batch_headers, decode_records
from shareq.protocol.share import AcknowledgeType
from tests.simulation.dates import tags_for
from tests.simulation.heartbeats import Heartbeats
from tests.simulation.ledger import CONTROL, GroupLedger, InvariantBroken, Place

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World

GAP: Final = AcknowledgeType.GAP
ACCEPT: Final = AcknowledgeType.ACCEPT
RELEASE: Final = AcknowledgeType.RELEASE
REJECT: Final = AcknowledgeType.REJECT
RENEW: Final = AcknowledgeType.RENEW
FINISHING: Final = frozenset((GAP, ACCEPT, REJECT))
MIXES: Final = ((ACCEPT,), (ACCEPT, RELEASE, REJECT), (RELEASE,), (RENEW,), (ACCEPT, RENEW), (ACCEPT, GAP))

DEADLY: Final = ((ACCEPT,), (ACCEPT, RELEASE, REJECT), (RELEASE,), (RENEW,), (REJECT,), (REJECT, ACCEPT), (ACCEPT, GAP))

# Errors that say that the acknowledgement had no effect; with any other the outcome is not known.
REFUSALS: Final = frozenset((ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST))
SESSION_LOST: Final = frozenset((ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH))

Run = tuple[int, int, list[int]]  # first offset, last offset (inclusive), types


class SentAcks:
    """Acknowledgements in progress. Not `honest`: of another member's records."""

    def __init__(
        self,
        ledger: GroupLedger,
        acks: dict[Place, int],
        marks: dict[Place, int],
        renewed_until: int,
        *,
        honest: bool,
        later: dict[Place, int] | None = None,
        sent_ms: int = 0,
        asked: int = 0,
    ) -> None:
        self.ledger = ledger
        self.generations = {place[0]: ledger.generations[place[0]] for place in acks}
        self.acks = acks
        self.marks = marks
        self.renewed_until = renewed_until
        self.honest = honest
        self.later = later or {}  # how long those wait that are given back with a time
        self.sent_ms = sent_ms
        self.asked = asked

    def counts(self, slot: int, ledger: GroupLedger) -> bool:
        """Return whether the slot still has the state that these acknowledgements are about."""
        return ledger is self.ledger and ledger.generations[slot] == self.generations[slot]


class Member:
    """One client. It has at most one request of the share session in progress."""

    def __init__(self, world: World, group: Group, member_id: str) -> None:
        self.world = world
        self.group = group
        self.id = member_id
        self.connection = world.connect()
        self.heartbeats = Heartbeats(world, group, member_id)
        self.session_epoch = 0
        self.in_session: set[int] = set()  # slots that the session knows
        self.busy = False
        self.life = 0  # answers to requests of an earlier one are not for us any more
        self.held: list[Place] = []

    # -- what it does of itself

    def act(self) -> None:
        rng = self.world.rng
        if self.heartbeats.epoch == 0 or rng.random() < 0.1:
            if rng.random() < 0.05:
                self.heartbeats.leave()
            else:
                self.heartbeats.send()
        if self.busy and rng.random() < 0.04:
            self.disconnect()
        if self.busy or not self.group.assigned or self.group.administered:
            return
        action = rng.random()
        if self.session_epoch == 0 or action < 0.4:
            self.fetch(self._some_acks() if self.session_epoch and rng.random() < 0.4 else {})
        elif action < 0.88:
            self.acknowledge()
        elif action < 0.92:
            self.acknowledge_badly()
        elif action < 0.96:
            self.close_session()
        else:
            self.disconnect()

    # -- fetching

    def fetch(
        self, acks: Mapping[Place, int] | None = None, max_wait_ms: int | None = None, max_records: int | None = None
    ) -> None:
        """Send ShareFetch for all of the group's partitions, assigned or not: the leader does not check."""
        world, rng = self.world, self.world.rng
        sent = self._enter_acks(dict(acks or {}))
        renews = RENEW in sent.acks.values()  # such a request may not ask for records
        request = ShareFetchRequest(
            group_id=self.group.id,
            member_id=self.id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=0 if renews else rng.choice((0, 100, 2_000)) if max_wait_ms is None else max_wait_ms,
            min_bytes=0 if renews else 1,
            max_bytes=0 if renews else rng.choice((1, 400, 1 << 20)),
            max_records=0 if renews else rng.choice((1, 3, 10, 500)) if max_records is None else max_records,
            batch_size=rng.choice((1, 5, 500)),
            share_acquire_mode=self.group.mode,
            is_renew_ack=renews,
            topics=self._fetch_topics(sent),
        )
        life, self.busy = self.life, True
        world.seen["acknowledgements with a fetch"] += len(sent.acks)

        def answered(response: Message) -> None:
            assert isinstance(response, ShareFetchResponse)
            if life == self.life:
                self.busy = False
                self.group.pauses.on_answer(self.group, mark, response)
                self._on_fetched(response, sent, leaders, committed, asked_ms)

        committed, mark = self.group.ledger.committed, self.group.pauses.mark()
        asked_ms = world.clock.wall_ms()
        pending = world.call("share_fetch", request, 2, self.connection)
        leaders = world.cores(self.group)  # that it asks: an answer of theirs continues their counting
        pending.on_complete(answered)

    def _fetch_topics(self, sent: SentAcks) -> list[share_fetch.FetchTopic]:
        new = self.group.assigned - self.in_session if self.session_epoch else self.group.assigned
        self.in_session = set(self.group.assigned)
        runs = self._runs(sent)
        topics: dict[bytes, share_fetch.FetchTopic] = {}
        for index in sorted(new | set(runs)):
            slot = self.world.topics.slots[index]
            batches = [share_fetch.AcknowledgementBatch(*run) for run in runs.get(index, ())]
            topic = topics.setdefault(slot.topic_id, share_fetch.FetchTopic(slot.topic_id, []))
            tags = tags_for(sent.later, index)
            topic.partitions.append(share_fetch.FetchPartition(slot.partition, batches, unknown_tags=tags))
        return list(topics.values())

    def _on_fetched(
        self,
        response: ShareFetchResponse,
        sent: SentAcks,
        leaders: Mapping[int, object],
        committed: bool,
        asked_ms: int,
    ) -> None:
        if response.error_code in SESSION_LOST:
            self.session_epoch = 0
            return
        if response.error_code != ErrorCode.NONE:
            raise InvariantBroken(f"{self.id}: fetch failed with {ErrorCode(response.error_code).name}")
        self.session_epoch += 1
        slot = self.world.topics.slot
        rows = {
            slot(topic.topic_id, row.partition_index).index: row
            for topic in response.responses
            for row in topic.partitions
        }
        self._on_acked(sent, {index: ErrorCode(row.acknowledge_error_code) for index, row in rows.items()})
        for index, row in rows.items():
            self._on_partition(index, row, leaders.get(index), committed, asked_ms)

    def _on_partition(self, index: int, row: PartitionData, leader: object, committed: bool, asked_ms: int) -> None:
        world = self.world
        if row.error_code != ErrorCode.NONE:
            world.note(f"{self.id} cannot fetch slot {index}: {ErrorCode(row.error_code).name}")
            world.seen["partitions that could not be fetched"] += 1
        assert row.records is not None
        values: dict[int, bytes | None] = {}
        for position, header in batch_headers(row.records):
            data = bytes(row.records[position : position + header.size])
            found = decode_records(data)
            values.update({record.offset: CONTROL if header.is_control else record.value for record in found})
        if not world.topics.is_live(index):
            return
        if world.cores(self.group).get(index) is not leader:
            leader = None
        now, certain = world.clock.now_ms(), world.knows_what_is_durable()
        for acquired in row.acquired_records:
            first, last, count = acquired.first_offset, acquired.last_offset, acquired.delivery_count
            world.note(f"{self.id} got {index}:{first}-{last} x{count}")
            for offset in range(first, last + 1):
                place = (index, offset)
                if offset not in values:
                    raise InvariantBroken(f"{place} was acquired and is not among the records of the answer")
                self.held.append(place)
                if values[offset] is CONTROL:
                    continue  # no record: to be acknowledged, and that is all
                self.group.deaths.on_delivered(place, count)
                self.group.breaker.on_delivered(count)
                world.dates.on_delivered(self.group, place, count, values[offset])
                world.expiries.on_delivered(place, values[offset], asked_ms)
                self.group.ledger.on_delivered(
                    self.id,
                    place,
                    count,
                    values[offset],
                    now_ms=now,
                    deadline_ms=now + self.group.shortest_lock_ms(now),
                    leader=leader,
                    certain=certain,
                    committed=committed,
                )

    # -- acknowledging

    def acknowledge(self, *, everything: bool = False) -> None:
        acks: dict[Place, int] = dict.fromkeys(self.held, ACCEPT) if everything else self._some_acks()
        if acks:
            self._send_acks(self._enter_acks(acks))

    def acknowledge_badly(self) -> None:
        world = self.world
        now = world.clock.now_ms()
        holds = self.group.ledger.holds.items()
        others = [place for place, hold in holds if hold.member_id != self.id and now < hold.deadline_ms]
        if others:
            acks: dict[Place, int] = {world.rng.choice(sorted(others)): world.rng.choice((ACCEPT, RELEASE, REJECT))}
            self._send_acks(SentAcks(self.group.ledger, acks, {}, 0, honest=False))

    def _some_acks(self) -> dict[Place, int]:
        rng = self.world.rng
        chosen = [place for place in sorted(set(self.held)) if rng.random() < 0.7]
        kinds = rng.choice(DEADLY if self.world.queues.on else MIXES)
        return {place: rng.choice(kinds) for place in chosen}

    def _enter_acks(self, acks: dict[Place, int]) -> SentAcks:
        ledger, world = self.group.ledger, self.world
        now = world.clock.now_ms()
        for place, kind in acks.items():
            if kind == REJECT:
                self.group.deaths.on_reject_sent(place)
                self.group.breaker.on_reject_sent()
        marks = {place: ledger.on_sent(place, kind in FINISHING, kind == RENEW, now) for place, kind in acks.items()}
        later = world.dates.later_for([place for place, kind in acks.items() if kind == RELEASE])
        for place in later:
            ledger.waits.on_lost(place)  # until that is answered
        self.held = [place for place in self.held if acks.get(place, RENEW) == RENEW]
        if acks:
            world.note(f"{self.id} acks {acks}")
        return SentAcks(
            ledger,
            acks,
            marks,
            now + self.group.lock_ms,
            honest=True,
            later=later,
            sent_ms=now,
            asked=self.group.pauses.asked,
        )

    def _send_acks(self, sent: SentAcks) -> None:
        world = self.world
        request = ShareAcknowledgeRequest(
            self.group.id,
            self.id,
            self.session_epoch,
            RENEW in sent.acks.values(),
            self._ack_topics(sent),
        )
        if not sent.honest:
            world.note(f"{self.id} acks what is not its own: {sent.acks}")
        life, self.busy = self.life, True

        def answered(response: Message) -> None:
            assert isinstance(response, ShareAcknowledgeResponse)
            if life == self.life:
                self.busy = False
                self._on_acknowledge_answer(response, sent)

        world.call("share_acknowledge", request, 2, self.connection).on_complete(answered)

    def _on_acknowledge_answer(self, response: ShareAcknowledgeResponse, sent: SentAcks) -> None:
        if response.error_code in SESSION_LOST:
            self.session_epoch = 0
            return
        if response.error_code != ErrorCode.NONE:
            raise InvariantBroken(f"{self.id}: acknowledge failed with {ErrorCode(response.error_code).name}")
        self.session_epoch += 1
        slot = self.world.topics.slot
        errors = {
            slot(topic.topic_id, row.partition_index).index: ErrorCode(row.error_code)
            for topic in response.responses
            for row in topic.partitions
        }
        self._on_acked(sent, errors)

    def _on_acked(self, sent: SentAcks, errors: Mapping[int, ErrorCode]) -> None:
        ledger, world = self.group.ledger, self.world
        if sent.acks:
            world.note(f"{self.id} acked: {[error.name for error in errors.values()]}")
        for place, kind in sent.acks.items():
            error, finishes = errors[place[0]], kind in FINISHING
            if not world.topics.is_live(place[0]) or not sent.counts(place[0], ledger):
                continue
            if not sent.honest:
                world.seen["acknowledgements of another's records"] += 1
                if error is ErrorCode.NONE and place[1] >= world.start_offset(self.group, place[0]):
                    raise InvariantBroken(f"{self.id} acknowledged {place}, which another member holds")
            elif error is ErrorCode.NONE:
                if kind == RENEW:
                    ledger.on_renewed(place, self.id, sent.renewed_until)
                if place in sent.later and ledger.times[place] == sent.marks[place]:
                    ledger.waits.on_given_back(place, sent.sent_ms + sent.later[place])
                    world.seen["records given back with a time"] += 1
                alone = place not in ledger.finished and ledger.maybe_finished[place] <= 1
                ledger.on_acknowledged(place, finishes, sent.marks[place])
                if kind == REJECT and alone and place in ledger.finished:  # else another one finished it before
                    self.group.deaths.on_rejected(place, ledger)
                    self.group.breaker.on_rejected(before=sent.asked != self.group.pauses.asked)
            elif error in REFUSALS:
                ledger.on_refused(place, finishes, sent.marks[place])
            else:
                world.seen["acknowledgements that failed"] += 1

    def _ack_topics(self, sent: SentAcks) -> list[share_acknowledge.AcknowledgeTopic]:
        topics: dict[bytes, share_acknowledge.AcknowledgeTopic] = {}
        for index, runs in sorted(self._runs(sent).items()):
            slot = self.world.topics.slots[index]
            batches = [share_acknowledge.AcknowledgementBatch(*run) for run in runs]
            topic = topics.setdefault(slot.topic_id, share_acknowledge.AcknowledgeTopic(slot.topic_id, []))
            tags = tags_for(sent.later, index)
            topic.partitions.append(share_acknowledge.AcknowledgePartition(slot.partition, batches, unknown_tags=tags))
        return list(topics.values())

    def _runs(self, sent: SentAcks) -> dict[int, list[Run]]:
        """Group adjacent offsets into batches, some into two, each with one type for all offsets or one for each."""
        runs: dict[int, list[tuple[int, list[int]]]] = {}
        for (partition, offset), kind in sorted(sent.acks.items()):
            known = runs.setdefault(partition, [])
            if known and known[-1][0] + len(known[-1][1]) == offset and self.world.rng.random() < 0.8:
                known[-1][1].append(kind)
            else:
                known.append((offset, [kind]))
        return {
            partition: [
                (first, first + len(types) - 1, types[:1] if len(set(types)) == 1 else types) for first, types in known
            ]
            for partition, known in runs.items()
        }

    # -- endings

    def close_session(self) -> None:
        self.world.note(f"{self.id} closes its session")
        sent = self._enter_acks(self._some_acks())
        renews = RENEW in sent.acks.values()
        request = ShareAcknowledgeRequest(self.group.id, self.id, -1, renews, self._ack_topics(sent))
        self.group.ledger.on_given_back(self.id, self.world.clock.now_ms())
        self._forget()
        life, self.busy = self.life, True

        def answered(_response: Message) -> None:
            if life == self.life:
                self.busy = False

        self.world.call("share_acknowledge", request, 2, self.connection).on_complete(answered)

    def disconnect(self) -> None:
        self.world.note(f"{self.id} loses its connection")
        if self.busy:
            self._on_answer_lost()
        self.group.ledger.on_given_back(self.id, self.world.clock.now_ms())
        self._forget()
        self.connection.lost()
        self.connection = self.world.connect()

    def _on_answer_lost(self) -> None:
        self.world.seen["answers that were lost"] += 1
        for partition, core in self.world.cores(self.group).items():
            for view in core.snapshot():
                if view.owner == self.id:
                    for offset in range(view.first_offset, view.last_offset + 1):
                        self.group.deaths.on_delivered((partition, offset), view.delivery_count)
                        self.group.breaker.on_delivered(view.delivery_count)
                        self.group.ledger.on_delivery_lost((partition, offset), view.delivery_count)

    def on_broker_lost(self) -> None:
        self.world.seen["requests that a crash cut off"] += self.busy
        self._forget()
        self.connection = self.world.connect()

    def _forget(self) -> None:
        self.life += 1
        self.busy = False
        self.held, self.session_epoch = [], 0

    def drain_once(self) -> bool:
        self.heartbeats.send()
        self.world.settle()
        before = self.group.ledger.seen["deliveries"]
        if not self.busy:
            self.fetch(max_wait_ms=0, max_records=500)
            self.world.settle()
        if self.held and not self.busy:
            self.acknowledge(everything=True)
            self.world.settle()
        return self.group.ledger.seen["deliveries"] > before
