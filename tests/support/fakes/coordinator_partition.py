from __future__ import annotations

from collections.abc import Callable

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.one_in_steps import LoadTurns
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition, ProducerEpoch
from shareq.broker.foundation.pending import Pending
from shareq.coordinator.shard import CoordinatorRecord, CoordinatorResult
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from tests.support.fakes.host import FakeHost
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, note, result

TOPIC = "__consumer_offsets"
PRODUCER = ProducerEpoch(7, 2)


class Rig:
    def __init__(self, settings: CoordinatorLogSettings | None = None, *, leads: bool = True) -> None:
        self.ports = FakeHost(**{TOPIC: 1})
        self.log = self.ports.logs.get(TOPIC, 0)
        self.shards: list[NoteShard] = []
        self.answers: list[str] = []
        self.settings = settings or CoordinatorLogSettings()
        self.partition = self.make(leads=leads)

    def make(self, *, leads: bool = True) -> CoordinatorPartition[NoteShard]:
        def new_shard() -> NoteShard:
            self.shards.append(NoteShard())
            return self.shards[-1]

        made = self.unloaded(new_shard, leads=leads)
        if leads:
            self.shards.clear()  # what is there before the load holds nothing
            made.load_now()
        return made

    def unloaded(self, new_shard: Callable[[], NoteShard], *, leads: bool = True) -> CoordinatorPartition[NoteShard]:
        env, settings = self.ports.env, self.settings
        return CoordinatorPartition(env, self.log, new_shard, NOTE_SERDE, settings, LoadTurns(), leads=leads)

    def schedule(
        self, response: str, *records: CoordinatorRecord, producer: ProducerEpoch | None = None, atomic: bool = True
    ) -> Pending[str]:
        pending = self.partition.schedule(
            lambda: result(response, *records, atomic=atomic),
            lambda error: f"{response} {error.name}",
            producer=producer,
        )
        pending.on_complete(self.answers.append)
        return pending

    def park(self, name: str) -> tuple[Pending[HeartbeatResponse], int]:
        tokens: list[int] = []

        def operation(token: int) -> CoordinatorResult[None]:
            tokens.append(token)
            return CoordinatorResult(None, (note(name),))

        pending = self.partition.schedule_waiting(operation, lambda error: HeartbeatResponse(error_code=error))
        return pending, tokens[0]

    def names(self) -> list[str]:
        shard = NoteShard()
        for record in self.log.records():
            assert record.key is not None
            decoded = NOTE_SERDE.decode(record.key, record.value)
            assert decoded is not None
            shard.replay(decoded, record.offset)
        return shard.names
