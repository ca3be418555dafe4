"""A process of a job: a group member that commits offsets, or copies what it reads in transactions.

It is a careful client: it uses records only while it is a member, begins at stable offsets, and repeats or gives up a
transaction whose end is unknown. It may fall silent, or be restarted while the old process still lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse
from tests.simulation.jobs import offsets
from tests.simulation.jobs.classic import ClassicMembership
from tests.simulation.jobs.consumer import ConsumerMembership
from tests.simulation.jobs.ledger import Attempt
from tests.simulation.jobs.producer import FENCED, NO_MEMBER, VERSIONS, Identity, JobProducer
from tests.simulation.jobs.reading import BY_ID, BY_NAME, fetch_request, records_of, row_of
from tests.simulation.jobs.scripts import Runner, Script
from tests.simulation.jobs.settings import SESSION_MS
from tests.simulation.jobs.zombie import Zombie
from tests.simulation.ledger import InvariantBroken
from tests.simulation.topics import SECOND, Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup

NONE = ErrorCode.NONE
GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Worker:
    """One worker of a job, whichever process runs it. `steady`: the worker has to behave normally from now on."""

    def __init__(self, group: JobGroup, index: int) -> None:
        self._group = group
        self._world = group.world
        self.transactional_id = f"{group.id}-t{index}"
        self._versions = group.world.rng.choice(VERSIONS)
        self._instance_id = f"{group.id}-i{index}" if group.world.rng.random() < 0.4 else None
        self._life = 0
        self.steady = False
        self._begin()

    def _begin(self) -> None:
        group, self._life = self._group, self._life + 1
        mixed = group.protocol == "mixed" and group.world.rng.random() < 0.5
        kind = ClassicMembership if group.protocol == "classic" or mixed else ConsumerMembership
        self.membership = kind(group, self._instance_id)
        self.producer: JobProducer | None = None
        if group.copies:
            self.producer = JobProducer(self._world, self.transactional_id, self._life, self._versions)
        self._connection = self._world.connect()
        self._positions: dict[Slot, int] = {}
        self._generations: dict[Slot, int] = {}  # of the registers, when it began to read there
        self._attempt: Attempt | None = None
        self._unsure: Attempt | None = None
        self._waits_at: tuple[Slot, int] | None = None  # a fetch for that position has nothing to answer yet
        self._leaves = False
        self._silent_until = 0
        self._now = self._earlier = self.membership.identity
        self._work = Runner(self._live())
        self._beat: Runner | None = None

    # -- what it does of itself

    def act(self) -> None:
        rng, now = self._world.rng, self._world.clock.now_ms()
        if self.steady:
            self.heartbeat()
            self._work.go_on()
            return
        if now < self._silent_until:
            return
        action = rng.random()
        if action < 0.015 or (self.is_about_to_end and action > 0.94):
            self._world.seen["consumers that fell silent"] += 1
            self._world.note(f"{self.membership.identity} falls silent")
            self._silent_until = now + rng.choice((1_000, SESSION_MS + 1, 2 * SESSION_MS))
        elif action < 0.035:
            self._start_again()
        elif action < 0.055:
            self._leaves = True
        elif action < 0.25:
            self.heartbeat()
        else:
            self._work.go_on()

    @property
    def is_about_to_end(self) -> bool:
        return self._attempt is not None and self._attempt.pending

    @property
    def adds_by_itself(self) -> bool:
        """True if its transactions are of version 2: the broker adds partitions and groups."""
        return self.producer is not None and self.producer.bumps

    @property
    def commits_offsets(self) -> bool:
        attempt = self._attempt
        return attempt is not None and attempt.open and attempt.sent_ms is not None and not attempt.pending

    def go_on(self) -> None:
        self._work.go_on()

    def settle_down(self) -> None:
        self.steady, self._silent_until, self._leaves = True, 0, False

    def leave(self) -> None:
        Runner(self.membership.leave()).go_on()

    def be_silent(self, ms: int) -> None:
        self._silent_until = self._world.clock.now_ms() + ms

    def heartbeat(self) -> None:
        if self._world.clock.now_ms() < self._silent_until:
            return
        if self._beat is None or not self._beat.waits:
            self._beat = Runner(self.membership.heartbeat(frozenset(self._positions)))
            self._beat.go_on()

    def _start_again(self) -> None:
        """Replace the process by a new one; the old one becomes a zombie that does not know of it."""
        self._world.seen["processes started again"] += 1
        self._world.note(f"{self.membership.identity} is started again")
        self._drop()
        self._give_up_attempt()
        self._world.jobs.zombies.append(
            Zombie(self._group, self.producer, self.membership.identity, dict(self._positions))
        )
        self._begin()

    def on_broker_lost(self) -> None:
        """Lose the answers on their way. A requested end may have taken effect."""
        asked = self._attempt is not None and self._attempt.commit_asked and self._attempt.open
        self._drop()
        if asked and self._world.rng.random() < 0.6:
            self._unsure, self._attempt = self._attempt, None
        else:
            self._give_up_attempt()
        self.membership.on_broker_lost()
        self._connection = self._world.connect()
        if self.producer is not None:
            self.producer.on_broker_lost()
        self._positions.clear()
        self._work = Runner(self._live())

    def blocked_at(self) -> tuple[Slot, int] | None:
        if self._waits_at is None or not self._world.topics.is_live(self._waits_at[0].index):
            return None
        slot, position = self._waits_at
        return (slot, position) if position < self._world.log(slot).high_watermark else None

    def check_waiting(self) -> None:
        """Check that a waiting fetch lacks only records; nothing is in progress."""
        if self._waits_at is not None:
            slot, position = self._waits_at
            if not self._world.topics.is_live(slot.index):
                raise InvariantBroken(f"{self._group.id} waits for slot {slot.index} at {position}, it is gone")
            log = self._world.log(slot)
            upto = log.last_stable_offset if self._group.committed else log.high_watermark
            if position < upto and log.refusal is ErrorCode.NONE:
                raise InvariantBroken(f"{self._group.id} waits for slot {slot.index} at {position}, it has {upto}")

    def _drop(self) -> None:
        self._waits_at = None
        self._work.drop()
        if self._beat is not None:
            self._beat.drop()
            self._beat = None

    def _give_up_attempt(self) -> None:
        for attempt in (self._attempt, self._unsure):
            if attempt is not None and attempt.open:
                self._group.ledger.on_ended(attempt, None)
        self._attempt = self._unsure = None

    # -- a process's life

    def _live(self) -> Script[None]:
        while True:
            yield from self._do_something()
            yield None

    def _do_something(self) -> Script[None]:
        if self._unsure is not None:
            yield from self._end_again(self._unsure)
        if self.producer is not None and not self.producer.ready:
            self._positions.clear()
            yield from self.producer.init()
        if self._leaves:
            self._leaves = False
            self._positions.clear()
            yield from self.membership.leave()
        elif self.membership.must_join():
            self._positions.clear()
            self.membership.give_up()
            yield from self.membership.join()
        else:
            yield from self._work_on()

    def _work_on(self) -> Script[None]:
        is_live = self._world.topics.is_live
        assigned = frozenset(slot for slot in self.membership.assigned if is_live(slot.index))
        who = self.membership.identity
        if who != self._now:
            self._earlier, self._now = self._now, who
        self._positions = {slot: position for slot, position in self._positions.items() if slot in assigned}
        missing = sorted(assigned - self._positions.keys(), key=lambda slot: slot.index)
        if missing:
            found = yield from offsets.fetch(self._group, self._connection, missing, who, stable=True)
            if not isinstance(found, ErrorCode):
                self._positions.update({slot: max(offset, 0) for slot, offset in found.items()})
                register = self._group.ledger.register
                self._generations.update({slot: register(slot.index).generation for slot in found})
        elif self._positions and self.producer is not None:
            if self._world.topics.of(SECOND):
                yield from self._copy(self.producer)
        elif self._positions:
            yield from self._consume()

    def _some_slot(self) -> Slot:
        return self._world.rng.choice(sorted(self._positions, key=lambda slot: slot.index))

    def _read(self, slot: Slot, position: int) -> Script[tuple[list[tuple[int, bytes]], int]]:
        """Return records and the next position: the log start if the position was deleted."""
        world, committed = self._world, self._group.committed
        if not world.topics.is_live(slot.index):
            return [], position
        wait_ms = 0 if self.steady else world.rng.choice((0, 0, 100, 500))
        most = world.rng.choice((1, 300, 1 << 20))
        request = fetch_request(slot, position, committed=committed, max_bytes=most, wait_ms=wait_ms)
        out_of_range = self._is_out_of_range(slot, position)
        answer = world.call("fetch", request, world.rng.choice((BY_NAME, BY_ID)), self._connection)
        if not answer.done:
            world.seen["fetches that waited"] += 1
            self._waits_at = slot, position
        response = yield answer
        self._waits_at = None
        assert isinstance(response, FetchResponse)
        row = row_of(response)
        error = ErrorCode(row.error_code)
        if world.services.metadata.topic_by_id(slot.topic_id) is None:
            world.seen["fetches from topics that are gone"] += 1
            yield None  # the answer comes while the topic is being deleted
            if error not in GONE:
                raise InvariantBroken(f"{self._group.id}: slot {slot.index} is gone, a fetch was answered {error.name}")
            return [], position
        if error is ErrorCode.OFFSET_OUT_OF_RANGE and (out_of_range or self._is_out_of_range(slot, position)):
            return [], self._begin_at_start(slot, position)
        if error or out_of_range:
            if not world.faults.happened or out_of_range:
                raise InvariantBroken(f"{self._group.id}: slot {slot.index} at {position} was answered {error.name}")
            return [], position
        found = records_of(row, position)
        for offset, value in found.records:
            world.topics.records.on_delivered((slot.index, offset), value)
            if committed:
                world.topics.records.check_committed((slot.index, offset), value)
        world.seen["records that jobs read"] += len(found.records)
        return found.records, found.position

    def _is_out_of_range(self, slot: Slot, position: int) -> bool:
        log = self._world.log(slot)
        return not log.log_start_offset <= position <= log.log_end_offset and log.refusal is NONE

    def _begin_at_start(self, slot: Slot, position: int) -> int:
        self._world.seen["positions that were out of range"] += 1
        start = self._world.log(slot).log_start_offset
        if slot in self._positions and start < position:
            self._positions[slot] = start  # it had come from an offset of another topic of that name
            return position
        return start

    def _who(self, who: Identity) -> Identity:
        """Return the committing identity, sometimes the one from before the last rebalance."""
        earlier = self._earlier
        if earlier.epoch > 0 and not self.steady and self._world.rng.random() < 0.1:
            self._world.seen["commits of an earlier epoch"] += 1
            return earlier
        return who

    # -- plain commits

    def _consume(self) -> Script[None]:
        slot, who = self._some_slot(), self.membership.identity
        _, position = yield from self._read(slot, self._positions[slot])
        if slot in self._positions and position > self._positions[slot]:
            self._positions[slot] = position
            if self._world.rng.random() < 0.5 and not self.steady:
                yield None
            committed = {
                each: at for each, at in self._positions.items() if each is slot or self._world.rng.random() < 0.3
            }
            error = yield from offsets.commit(self._group, self._connection, committed, self._who(who))
            if error is not NONE:
                self._positions.clear()

    # -- copies

    def _copy(self, producer: JobProducer) -> Script[None]:
        world, who = self._world, self.membership.identity
        attempt: Attempt | None = None
        for _ in range(world.rng.randint(1, 3)):
            slot = self._some_slot()
            position = (
                self._positions[slot] if attempt is None else attempt.offsets.get(slot.index, self._positions[slot])
            )
            records, after = yield from self._read(slot, position)
            if after == position:
                continue
            if attempt is None:
                attempt = self._attempt = self._group.ledger.begin(
                    world.jobs.next_number(), (producer.transactional_id, producer.producer_id, producer.epoch)
                )
            if records:
                error = yield from self._write(producer, attempt, slot, records)
                if error is not NONE:
                    yield from self._fail(producer, attempt, error)
                    return
            attempt.offsets[slot.index] = after
            if world.rng.random() < 0.3 and not self.steady:
                yield None
        if attempt is not None:
            yield from self._finish(producer, attempt, who)

    def _write(
        self, producer: JobProducer, attempt: Attempt, slot: Slot, records: list[tuple[int, bytes]]
    ) -> Script[ErrorCode]:
        world = self._world
        values = []
        for offset, value in records:
            values.append(b"%d=%s" % (world.values, value))
            world.values += 1
            world.jobs.copies.on_sent(attempt, (slot.index, offset), self._generations[slot], values[-1])
        targets = world.topics.of(SECOND)
        if not targets:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return (yield from producer.write(world.rng.choice(targets), values))

    def _finish(self, producer: JobProducer, attempt: Attempt, who: Identity) -> Script[None]:
        world, rng = self._world, self._world.rng
        if self.membership.joined and rng.random() < 0.5:
            who = self.membership.identity  # as it is now; what it read is its own still
        by_slot = {world.topics.slots[index]: offset for index, offset in attempt.offsets.items()}
        self._group.ledger.on_offsets_sent(attempt)
        error = yield from offsets.commit_in_transaction(self._group, producer, by_slot, self._who(who))
        if error is not NONE:
            yield from self._fail(producer, attempt, error)
            return
        world.seen["offsets committed in transactions"] += 1
        attempt.pending = True
        while rng.random() < 0.6 and not self.steady:
            yield None
        yield from self._end(producer, attempt, commit=self.steady or rng.random() < 0.8)

    def _end(self, producer: JobProducer, attempt: Attempt, *, commit: bool) -> Script[None]:
        ledger = self._group.ledger
        if commit:
            ledger.on_commit_asked(attempt)
        attempt.pending = False
        error = yield from producer.end(commit=commit)
        if commit and error is NONE:
            self._committed(attempt)
        elif commit and error not in FENCED:
            self._unsure = attempt
        else:
            ledger.on_ended(attempt, False)
            producer.ready = error is NONE
            self._world.seen["jobs' transactions aborted"] += not commit and error is NONE
        if error is not NONE or not commit:
            self._positions.clear()

    def _committed(self, attempt: Attempt) -> None:
        self._group.ledger.on_ended(attempt, True)
        self._world.seen["jobs' transactions committed"] += 1
        for index, offset in attempt.offsets.items():
            slot = self._world.topics.slots[index]
            if slot in self._positions:
                self._positions[slot] = offset

    def _end_again(self, attempt: Attempt) -> Script[None]:
        producer = self.producer
        assert producer is not None
        outcome = None
        for _ in range(3):
            self._world.seen["ends asked for again"] += 1
            error = yield from producer.end(commit=True)
            if error is NONE or error in FENCED:
                outcome = True if error is NONE else None
                break
            yield None
        producer.ready = outcome is True
        self._group.ledger.on_ended(attempt, outcome)
        self._unsure = None

    def _fail(self, producer: JobProducer, attempt: Attempt, error: ErrorCode) -> Script[None]:
        """Abort, or start over in another epoch, which aborts as well."""
        self._positions.clear()
        attempt.pending = False
        producer.ready = False
        if error in NO_MEMBER or self._world.rng.random() < 0.3:
            self._world.seen["transactions refused by their group"] += error in NO_MEMBER
            aborted = yield from producer.end(commit=False)
            producer.ready = aborted is NONE and error in NO_MEMBER
        self._group.ledger.on_ended(attempt, False)
