"""The partitions of a coordinator's topic: made on first use, loaded at a start, given up one by one or together."""

from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from tests.support.fakes.host import ELSEWHERE, FakeHost
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, note, result

TOPIC = "__consumer_offsets"


class Rig:
    """A coordinator's topic of three partitions."""

    def __init__(self, partitions: int = 3) -> None:
        self.ports = FakeHost(**{TOPIC: partitions} if partitions else {})
        self.load_ms = 0
        self.partitions = self.coordinator()

    def coordinator(self) -> CoordinatorPartitions[NoteShard]:
        def new_shard() -> NoteShard:
            self.ports.clock.advance(self.load_ms)
            return NoteShard()

        return CoordinatorPartitions(self.ports.host, TOPIC, new_shard, NOTE_SERDE, CoordinatorLogSettings())

    def write(self, partition: int, name: str) -> list[str]:
        """What the answer is, once it is there."""
        answers: list[str] = []
        pending = self.partitions.get(partition).schedule(lambda: result("ok", note(name)), lambda error: error.name)
        pending.on_complete(answers.append)
        return answers


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_there_are_none_without_the_topic() -> None:
    rig = Rig(partitions=0)
    assert (rig.partitions.count, list(rig.partitions)) == (0, [])
    rig.partitions.load()
    rig.ports.topics.add(TOPIC, 2)
    assert rig.partitions.count == 2


def test_a_load_makes_those_that_have_records(rig: Rig) -> None:
    rig.write(1, "a")
    rig.ports.logs.flush()
    again = rig.coordinator()
    again.load()
    assert [partition.shard.names for partition in again] == [["a"]]
    assert again.loads.count == 1
    assert again.get(1) is next(iter(again))
    log = rig.ports.logs.get(TOPIC, 1)
    log.log_start_offset = log.high_watermark
    empty = rig.coordinator()
    empty.load()
    assert list(empty) == []


def test_a_partition_is_made_once(rig: Rig) -> None:
    assert rig.partitions.get(2) is rig.partitions.get(2)
    assert rig.partitions.get(0) is not rig.partitions.get(2)
    assert len(list(rig.partitions)) == 2
    assert rig.partitions.loads.count == 2


def test_loads_are_timed(rig: Rig) -> None:
    rig.load_ms = 30
    rig.partitions.get(0)
    rig.load_ms = 50
    rig.partitions.get(1)
    assert (rig.partitions.loads.count, rig.partitions.loads.total_ns) == (2, 80_000_000)
    assert rig.partitions.longest_load.of(rig.ports.clock.now_ns()) == 50_000_000


def test_what_another_broker_leads_is_not_kept(rig: Rig) -> None:
    rig.ports.leaders.move(TOPIC, 1, ELSEWHERE)
    assert rig.write(1, "a") == ["NOT_COORDINATOR"]
    assert (list(rig.partitions), rig.partitions.loads.count) == ([], 0)
    rig.ports.leaders.move(TOPIC, 1, None)
    answers = rig.write(1, "a")
    rig.ports.logs.flush()
    assert answers == ["ok"]


def test_one_partition_is_given_up_and_read_again(rig: Rig) -> None:
    kept, gone = rig.write(0, "a"), rig.write(1, "b")
    rig.partitions.resign(1)
    rig.partitions.resign(2)
    assert (kept, gone) == ([], ["NOT_COORDINATOR"])
    assert len(list(rig.partitions)) == 1
    rig.ports.logs.flush()
    assert kept == ["ok"]
    assert rig.partitions.get(1).shard.names == []


def test_all_partitions_are_given_up(rig: Rig) -> None:
    answers = [rig.write(0, "a"), rig.write(1, "b")]
    rig.partitions.resign()
    assert (answers, list(rig.partitions)) == ([["NOT_COORDINATOR"]] * 2, [])


def test_what_waits_is_refused_in_all_of_them(rig: Rig) -> None:
    waiting = [
        rig.partitions.get(number).schedule_waiting(
            lambda _token: CoordinatorResult(None), lambda error: HeartbeatResponse(error_code=error)
        )
        for number in (0, 2)
    ]
    rig.partitions.refuse_parked()
    assert [each.value.error_code for each in waiting] == [ErrorCode.NOT_COORDINATOR] * 2


def test_closing_stops_the_timers(rig: Rig) -> None:
    shards = [rig.partitions.get(number).shard for number in (0, 1)]
    for number, shard in enumerate(shards):
        shard.deadline = 1_100
        rig.write(number, "arms")
    rig.partitions.close()
    rig.ports.clock.advance(1_000)
    assert [shard.deadlines_seen for shard in shards] == [[], []]


def test_the_room_is_what_the_first_partitions_topic_takes_now(rig: Rig) -> None:
    log = rig.ports.logs.get(TOPIC, 0)
    log.settings = LogSettings(max_message_bytes=300)
    assert (rig.partitions.room.room_bytes(), rig.partitions.room.most_bytes()) == (300 - 61, 300)
    small = [note("a")]
    assert rig.partitions.room.fits(small)
    assert not rig.partitions.room.fits(small * 20)
    log.settings = LogSettings(max_message_bytes=3_000)
    assert rig.partitions.room.fits(small * 20)
