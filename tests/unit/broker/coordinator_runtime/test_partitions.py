"""The partitions of a coordinator's topic: created on first use, loaded at start, resigned singly or together."""

from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime.batches import CoordinatorLogSettings
from shareq.broker.coordinator_runtime.partition import CoordinatorPartition
from shareq.broker.coordinator_runtime.partitions import CoordinatorPartitions
from shareq.broker.coordinator_runtime.ports import LOG_IS_OVER
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.shard import CoordinatorResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatResponse
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.fakes.host import ELSEWHERE, FakeHost
from tests.support.fakes.note_shard import NOTE_SERDE, NoteShard, note, result

TOPIC = "__consumer_offsets"


class Rig:
    def __init__(self, partitions: int = 3) -> None:
        self.ports = FakeHost(**{TOPIC: partitions} if partitions else {})
        self.load_ms = 0
        self.partitions = self.coordinator()

    def coordinator(self) -> CoordinatorPartitions[NoteShard]:
        def new_shard() -> NoteShard:
            if self.load_ms:
                self.ports.clock.advance(self.load_ms)
            return NoteShard()

        return CoordinatorPartitions(self.ports.host, TOPIC, new_shard, NOTE_SERDE, CoordinatorLogSettings())

    def write(self, partition: int, name: str) -> list[str]:
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


def filled(rig: Rig, *partitions: int) -> list[CoordinatorPartition[NoteShard]]:
    for number in partitions:
        for first in range(0, 600, 100):
            records = [RecordData(*NOTE_SERDE.encode(note(f"n{first + at}"))) for at in range(100)]
            log = rig.ports.logs.get(TOPIC, number)
            log.high_watermark = log.contents.add(build_batch(records, timestamp_ms=1_000)).next_offset
    return [rig.partitions.get(number) for number in partitions]


def test_a_start_loads_in_one_go(rig: Rig) -> None:
    """A load at the start takes no turns: nothing is answered before its end anyway."""
    filled(rig, 0, 1)
    again = rig.coordinator()
    again.load()
    assert [(each.loaded.value, len(each.shard.names)) for each in again] == [(True, 600)] * 2


def test_a_start_leaves_alone_what_another_broker_leads(rig: Rig) -> None:
    filled(rig, 0, 1)
    rig.ports.leaders.move(TOPIC, 0, ELSEWHERE)
    rig.ports.logs.get(TOPIC, 0).unreadable_with = OSError("must not be read")
    again = rig.coordinator()
    again.load()
    assert [len(each.shard.names) for each in again] == [600]


def test_later_loads_are_one_after_the_other(rig: Rig) -> None:
    """Each load uses part of a turn, so many together would take a long one."""
    first, second, third = filled(rig, 0, 1, 2)
    answers = rig.write(1, "behind")
    rig.ports.clock.run_tick()
    assert not any(each.loaded.done for each in (first, second, third))
    ended: list[str] = []
    for name, each in (("first", first), ("second", second), ("third", third)):
        each.loaded.on_complete(lambda loaded, name=name: ended.append(f"{name} {loaded}"))  # type: ignore[misc]
    second.resign()
    assert (ended, answers) == (["second False"], ["NOT_COORDINATOR"])
    rig.ports.clock.run_until_idle()
    assert ended == ["second False", "first True", "third True"]
    assert rig.partitions.loads.count == 3


def test_a_turn_that_is_given_up_goes_to_the_next_one(rig: Rig) -> None:
    first, second = filled(rig, 0, 1)
    first.resign()
    rig.ports.clock.run_until_idle()
    assert (first.loaded.value, second.loaded.value) == (False, True)
    third = filled(rig, 2)[0]
    rig.ports.clock.run_until_idle()
    assert third.loaded.value


def test_a_partition_is_taken_over_with_another_log(rig: Rig) -> None:
    answers = rig.write(1, "a")
    rig.ports.logs.collect()
    rig.ports.logs.get(TOPIC, 1).lose(LOG_IS_OVER)
    assert answers == ["NOT_COORDINATOR"]
    assert rig.write(1, "b") == ["NOT_COORDINATOR"], "until it is taken over"
    rig.ports.logs.forget(TOPIC, 1)
    filled(rig, 1)
    loaded = rig.partitions.take_over(1)
    assert rig.write(1, "c") == ["COORDINATOR_LOAD_IN_PROGRESS"]
    assert not loaded.done
    rig.ports.clock.run_until_idle()
    assert loaded.value
    answers = rig.write(1, "d")
    rig.ports.logs.flush()
    assert answers == ["ok"]
    assert rig.partitions.get(1).shard.names == [*(f"n{at}" for at in range(600)), "d"]


def test_what_another_broker_leads_is_not_taken_over(rig: Rig) -> None:
    rig.ports.leaders.move(TOPIC, 1, ELSEWHERE)
    assert not rig.partitions.take_over(1).value
    assert list(rig.partitions) == []


def test_a_later_owner_ends_the_load_of_a_take_over(rig: Rig) -> None:
    filled(rig, 1)
    first = rig.partitions.take_over(1)
    second = rig.partitions.take_over(1)
    assert not first.value
    rig.ports.clock.run_until_idle()
    assert second.value


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
