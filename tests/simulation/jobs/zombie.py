"""A process that does not know yet that it was replaced.

Its transactions must have no effect once the new process has initialized the transactional id. It stays a member of its
group until the group refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.simulation.jobs import offsets
from tests.simulation.jobs.producer import Identity, JobProducer
from tests.simulation.jobs.scripts import Runner, Script
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import SECOND, Slot

if TYPE_CHECKING:
    from tests.simulation.jobs.group import JobGroup

FENCED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION)


class Zombie:
    """A worker's state when its process was replaced. `positions`: its slots, and its position in each."""

    def __init__(
        self, group: JobGroup, producer: JobProducer | None, who: Identity, positions: Mapping[Slot, int]
    ) -> None:
        self._group = group
        self._world = group.world
        self._producer = producer if producer is not None and producer.epoch >= 0 else None
        self._who = who
        self._positions = positions
        self._connection = group.world.connect()
        self._runner: Runner | None = None

    def act(self) -> None:
        if self._runner is None or self._runner.done:
            self._runner = Runner(self._go_on())
        self._runner.go_on()

    def on_broker_lost(self) -> None:
        self._runner = None
        self._connection = self._world.connect()
        if self._producer is not None:
            self._producer.on_broker_lost()

    def _go_on(self) -> Script[None]:
        if (
            self._who.classic
            and self._group.protocol == "classic"
            and self._who.epoch > 0
            and self._world.rng.random() < 0.3
        ):
            yield from self._heartbeat()
        elif self._producer is not None and self._producer.is_fenced:
            yield from self._produce(self._producer)
        elif self._producer is None and self._positions and self._who.epoch > 0:
            yield from offsets.commit(self._group, self._connection, self._positions, self._who)

    def _heartbeat(self) -> Script[None]:
        world, group, who = self._world, self._group, self._who
        live = group.live()
        due = ErrorCode.UNKNOWN_MEMBER_ID if live is None else offsets.expected_error(live, who, (), offsets.BY_NAME)
        request = HeartbeatRequest(group.id, who.epoch, who.member_id, who.instance_id)
        response = yield world.call("heartbeat", request, 4, self._connection)
        assert isinstance(response, HeartbeatResponse)
        error = ErrorCode(response.error_code)
        world.seen["heartbeats of zombies"] += 1
        if due in FENCED and error is not due and not (error in LOG_FAILED and world.faults.happened):
            raise InvariantBroken(f"{group.id}: {who} was heard of, and answered {error.name}, due was {due.name}")

    def _produce(self, producer: JobProducer) -> Script[None]:
        world, ledger = self._world, self._group.ledger
        attempt = ledger.begin(world.jobs.next_number(), ("", 0, 0))  # readers never see anything of it
        ledger.on_ended(attempt, False)
        what = world.rng.choice(("write", "write at once", "commit offsets", "end"))
        value = b"%d=zombie" % world.values
        world.values += 1
        world.jobs.copies.on_sent(attempt, (-1, -1), 0, value)
        targets, sources = world.topics.of(SECOND), self._positions or dict.fromkeys(self._group.source()[:1], 0)
        if not targets or not sources:
            return
        target = world.rng.choice(targets)
        if what == "write":
            error = yield from producer.write(target, [value])
        elif what == "write at once":
            error = yield from producer.produce(target, [value])
        elif what == "commit offsets":
            anybody = world.rng.random() < 0.5  # then nothing but its epoch can show it
            who = Identity("", -1, None) if anybody else self._who
            error = yield from producer.commit_offsets(self._group.id, sources, who)
        else:
            error = yield from producer.end(commit=True)
        world.seen["zombies refused"] += 1
        if error is ErrorCode.NONE:
            raise InvariantBroken(f"{producer.transactional_id}: a fenced producer was accepted ({what})")
