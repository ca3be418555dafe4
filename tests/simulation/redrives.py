"""Redrives in a seed's world: begun, cancelled, interrupted; the letters that they sent back are judged at the end.

One queue has letters that clients write, whose records are sent back to a topic of their own. The groups' queues have
letters that are sent back to the groups' topics. Despite all crashes and failures, each letter is sent back by one of
the redrives meant for it, and once by each redrive with `again`; and each redrive's description agrees with what it
did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from shareq.broker.metadata.store import NewTopic
from shareq.broker.redrive.spec import TOPIC_PREFIX, Target
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from shareq.protocol.generated.describe_redrives import (
    DescribedRedrive,
    DescribeRedrivesRequest,
    DescribeRedrivesResponse,
)
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import Record, RecordData, build_batch
from tests.simulation import dates
from tests.simulation.deaths import LONGEST_WAIT_MS, is_about_dead_letters
from tests.simulation.errors import InvariantBroken
from tests.simulation.reading import records_of

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_SEED: Final = 2_000_000
"""The first seed with redrives; the events of lower seeds stay as they were before."""

QUEUE: Final = "dlq.letters"
BACK: Final = "back"
MISSING: Final = "missing"
PARTITIONS: Final = 2
GROUPS: Final = ("packers", "senders")
MOST: Final = 8  # redrives of a seed
RUNNING: Final = "RUNNING"
CANCELLED: Final = "CANCELLED"

Letter = tuple[int, int]
"""Partition and offset of a letter in the queue."""


def is_about_redrives(seed: int) -> bool:
    return FIRST_SEED <= seed < dates.FIRST_SEED and is_about_dead_letters(seed)


@dataclass
class Known:
    """A redrive as the client that began it knows it. `error` is None until there is an answer."""

    request: StartRedriveRequest
    error: ErrorCode | None = None
    ended: str = ""  # a state other than RUNNING that was answered: for good
    sent_then: dict[Letter, int] = field(default_factory=dict)  # what it had sent back when that was answered

    @property
    def target(self) -> str:
        return BACK if self.request.target == Target.TOPIC else f"{TOPIC_PREFIX}{self.request.group_id}"


class Redrives:
    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"redrives {seed}")
        self._again = Random(f"again {seed}")  # apart, so that older seeds live as before
        self.on = is_about_redrives(seed)
        self.known: dict[str, Known] = {}

    def begin(self) -> None:
        if self.on:
            for topic in (QUEUE, BACK):
                self._world.folder.metadata.create_topic(NewTopic(topic, PARTITIONS, {}))

    def act(self) -> None:
        steps = (self._bury, self._start, self._cancel, self._describe, self._die_in_the_middle, self._let_it_work)
        self._rng.choices(steps, (4, 4, 3, 1, 4, 2))[0]()

    def finish(self) -> None:
        for _ in range(20):
            if not any(self._report(name).state == RUNNING for name in self.known):
                return
            self._world.advance(LONGEST_WAIT_MS)
            self._world.settle()
        raise InvariantBroken("a redrive never ends")

    # -- steps

    def _bury(self) -> None:
        """Write letters as a client, in a broker's form; some name a topic that does not exist."""
        world, rng = self._world, self._rng
        letters = [
            RecordData(None, b"letter %d" % rng.getrandbits(60), _headers(rng)) for _ in range(rng.choice((1, 4, 12)))
        ]
        partition = PartitionProduceData(
            rng.randrange(PARTITIONS), bytes(build_batch(letters, timestamp_ms=world.clock.wall_ms()))
        )
        world.note(f"{len(letters)} letters into {QUEUE}-{partition.index}")
        topic = TopicProduceData(QUEUE, partition_data=[partition])
        world.call("produce", ProduceRequest(None, -1, 1_000, [topic]), 9, world.connect())

    def _start(self) -> None:
        """Start a redrive of the clients' queue or of a group's, perhaps under a name that was used."""
        rng, used = self._rng, [name for name, known in self.known.items() if known.error is ErrorCode.NONE]
        if used and rng.random() < 0.1:
            self._start_again(rng.choice(used))
        elif len(self.known) < MOST:
            name = f"redrive-{len(self.known)}"
            known = self.known[name] = Known(self._request(name))
            self._world.note(f"{known.request}")
            self._send(known)

    def _send(self, known: Known) -> None:
        def answered(response: Message) -> None:
            assert isinstance(response, StartRedriveResponse)
            known.error = ErrorCode(response.error_code)
            self._world.note(f"{known.request.name} was begun: {known.error.name}")
            self._world.seen["redrives"] += known.error is ErrorCode.NONE

        self._world.call("start_redrive", known.request, 0, self._world.connect()).on_complete(answered)

    def _start_again(self, name: str) -> None:
        def answered(response: Message) -> None:
            assert isinstance(response, StartRedriveResponse)
            if response.error_code == ErrorCode.NONE:
                raise InvariantBroken(f"{name} was begun twice")

        request = self._request(name)
        self._world.call("start_redrive", request, 0, self._world.connect()).on_complete(answered)

    def _request(self, name: str) -> StartRedriveRequest:
        rng, world = self._rng, self._world
        request = StartRedriveRequest(name, QUEUE, records_per_second=rng.choice((3, 10, 40, 1_000_000)))
        request.again = self._again.random() < 0.5
        queues = [
            queue for group in world.groups if world.services.metadata.topic(queue := world.queues.name_of(group))
        ]
        if queues and rng.random() < 0.35:
            request.queue = rng.choice(queues)
            request.group_id, request.target = request.queue.removeprefix("dlq."), int(Target.GROUP)
            return request
        if rng.random() < 0.4:
            request.group_id = rng.choice(GROUPS)
        if rng.random() < 0.2:
            request.queue_partition = rng.randrange(PARTITIONS)
            request.first_offset = rng.choice((-1, rng.randrange(6)))
            request.last_offset = rng.choice((-1, max(request.first_offset, 0) + rng.randrange(8)))
        return request

    def _cancel(self) -> None:
        names = [name for name, known in self.known.items() if not known.ended]
        if not names:
            return
        name = self._rng.choice(names)
        known = self.known[name]

        def answered(response: Message) -> None:
            assert isinstance(response, CancelRedriveResponse)
            self._world.note(f"{name} was cancelled: {ErrorCode(response.error_code).name}")
            if response.error_code == ErrorCode.NONE and not known.ended:
                self._over(name, CANCELLED)

        self._world.call("cancel_redrive", CancelRedriveRequest(name), 0, self._world.connect()).on_complete(answered)

    def _describe(self) -> None:
        self._world.settle()
        for name in self.known:
            self._report(name)

    def _die_in_the_middle(self) -> None:
        world, rng = self._world, self._rng
        if not any(known.error is ErrorCode.NONE and not known.ended for known in self.known.values()):
            self._start()
            world.settle()
        if rng.random() < 0.3:
            world.faults.fail_writes(rng.randint(0, 3))
        else:
            world.fs.crash_at = world.fs.steps + rng.randint(1, 8)
        self._let_it_work()

    def _let_it_work(self) -> None:
        self._world.advance(self._rng.choice((50, 110, 400)))

    # -- what they say of themselves

    def _report(self, name: str) -> DescribedRedrive:
        """Return the redrive's description while nothing is under way; without a state if it cannot be read."""
        world = self._world
        pending = world.call("describe_redrives", DescribeRedrivesRequest([name]), 0, world.connect())
        world.settle()
        assert isinstance(pending.value, DescribeRedrivesResponse)
        (row,) = pending.value.redrives
        known = self.known[name]
        if known.ended and row.state == RUNNING:
            raise InvariantBroken(f"{name} is {row.state}, it was {known.ended}")
        if row.state not in ("", RUNNING) and not known.ended:
            self._over(name, row.state)
        return row

    def _over(self, name: str, state: str) -> None:
        self._world.note(f"{name} is over: {state}")
        self.known[name].ended = state
        self.known[name].sent_then = self._sent(name)

    def _sent(self, name: str) -> dict[Letter, int]:
        counts: dict[Letter, int] = defaultdict(int)
        for letter, _ in self._sent_records(name):
            counts[letter] += 1
        return counts

    def _sent_records(self, name: str) -> list[tuple[Letter, Record]]:
        found = []
        for record in self._records(self.known[name].target):
            said = dict(record.headers)
            if said.get("__redrive.name") == name.encode():
                at = int(said["__redrive.queue.partition"] or b""), int(said["__redrive.queue.offset"] or b"")
                found.append((at, record))
        return found

    def _records(self, topic: str) -> list[Record]:
        return [record for records in self._logs(topic) for record in records]

    def _logs(self, topic: str) -> list[list[Record]]:
        services = self._world.services
        image = services.metadata.topic(topic)
        count = 0 if image is None else image.partitions
        return [records_of(self._world.folder.logs.get(topic, partition)) for partition in range(count)]

    # -- the end

    def check(self) -> None:
        """Check at the end that each selected letter was sent back once, and no other letter."""
        for name in self.known:
            self._check(name)
        self._check_once()

    def _check_once(self) -> None:
        senders: dict[tuple[str, Letter], str] = {}
        for name, known in self.known.items():
            for letter in () if known.request.again else self._sent(name):
                other = senders.setdefault((known.request.queue, letter), name)
                if other != name:
                    raise InvariantBroken(f"{name} has sent {letter} back, as {other} had")

    def _went_back_with_another(self, known: Known, at: Letter) -> bool:
        """Return True if another redrive of the queue has sent the letter, or was cancelled when it was about to."""
        others = [
            name
            for name, other in self.known.items()
            if other is not known and other.request.queue == known.request.queue
        ]
        return any(at in self._sent(name) or self.known[name].ended == CANCELLED for name in others)

    def _check(self, name: str) -> None:
        known, row, sent = self.known[name], self._report(name), self._sent(name)
        if row.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            if known.error is ErrorCode.NONE or sent:
                raise InvariantBroken(f"{name} is unknown, it was begun; it has sent {len(sent)} letters back")
            return
        if row.error_code or row.state not in ("DONE", CANCELLED):
            raise InvariantBroken(f"{name} is over: {ErrorCode(row.error_code).name} {row.state} {row.trouble}")
        twice = sorted(letter for letter, times in sent.items() if times > 1)
        if twice:
            raise InvariantBroken(f"{name} has sent {twice} back twice")
        if sent != known.sent_then:
            raise InvariantBroken(f"{name} was {known.ended}, and has gone on")
        self._check_letters(name, row)
        counts = {each.what: each.records for each in row.counts}
        if counts.get("REDRIVEN", 0) != len(sent):
            raise InvariantBroken(f"{name} says {counts}, {len(sent)} letters went back")
        looked_at = sum(max(each.next_offset - self._first(known), 0) for each in row.partitions)
        looked_at += len(_beyond(sent, row))  # of a round that was half sent when it was cancelled
        if sum(counts.values()) != looked_at:
            raise InvariantBroken(f"{name} says {counts} of {looked_at} letters")
        self._world.seen["redrives that were cancelled"] += row.state == CANCELLED
        self._world.seen["letters that went back"] += len(sent)

    def _check_letters(self, name: str, row: DescribedRedrive) -> None:
        """Check that selected letters among those examined were sent back with their content, and no others."""
        known, sent = self.known[name], dict(self._sent_records(name))
        queue = self._logs(known.request.queue)
        looked_at = {each.partition: range(self._first(known), each.next_offset) for each in row.partitions}
        for partition, offsets in looked_at.items():
            for letter in queue[partition]:
                if letter.offset in offsets:
                    self._check_letter(known, (partition, letter.offset), letter, sent)
        unseen = {(partition, offset) for partition, offset in sent if offset not in looked_at.get(partition, ())}
        if row.state == CANCELLED:
            unseen -= _beyond(sent, row)
        if unseen:
            raise InvariantBroken(f"{name} has sent {sorted(unseen)} back, and looked at {looked_at}")

    def _check_letter(self, known: Known, at: Letter, letter: Record, sent: dict[Letter, Record]) -> None:
        said, wanted = dict(letter.headers), known.request
        of_group = wanted.group_id in (None, (said["__dlq.errors.group"] or b"").decode())
        is_meant = of_group and (known.target != BACK or said["__dlq.errors.topic"] == BACK.encode())
        if letter.value is None and is_meant:
            return  # it goes back if the dead record is still in its log
        if is_meant and at not in sent and not wanted.again and self._went_back_with_another(known, at):
            self._world.seen["letters that had gone back"] += 1
        elif is_meant and at not in sent:
            raise InvariantBroken(f"{wanted.name} has passed {at} of {wanted.queue}, which did not go back")
        if at in sent and (not is_meant or sent[at].value != letter.value):
            raise InvariantBroken(f"{wanted.name} has sent {sent[at].value!r} back for {letter.value!r} at {at}")

    def _first(self, known: Known) -> int:
        return max(known.request.first_offset, 0)


def _beyond(sent: Iterable[Letter], row: DescribedRedrive) -> set[Letter]:
    """Return the letters that were sent back although the redrive had ended before it reached them."""
    upto = {each.partition: each.next_offset for each in row.partitions}
    return {at for at in sent if at[1] >= upto.get(at[0], at[1] + 1)}


def _headers(rng: Random) -> tuple[tuple[str, bytes], ...]:
    return (
        ("own", b"%d" % rng.randrange(100)),
        ("__dlq.errors.topic", rng.choices((BACK, MISSING), (9, 1))[0].encode()),
        ("__dlq.errors.partition", b"%d" % rng.randrange(PARTITIONS)),
        ("__dlq.errors.offset", b"%d" % rng.randrange(1_000)),
        ("__dlq.errors.group", rng.choice(GROUPS).encode()),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    )
