"""Crashes at every single disk operation, in both crash models.

Answered records survive a killed process always, and a power cut if every message is flushed; torn bytes are cut off
and never served; the broker restarts without help.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import TOPIC, LogWorld, batch_of, read_all

SMALL = LogSettings(segment_bytes=900, index_interval_bytes=100)
PARTITIONS = 2
OTHER_ID = bytes(range(16, 32))


@dataclass(slots=True)
class Reported:
    """The answers that clients of one partition have received."""

    appended: dict[int, bytes] = field(default_factory=dict)  # offset -> value, answered or not
    answered: dict[int, bytes] = field(default_factory=dict)
    log_start: int = 0
    asked_start: int = 0
    next_sequence: int = 0
    last_batch: tuple[int, int, int] | None = None  # sequence, first and last offset of the last answered batch


class Workload:
    """Appends, reads, prefix truncations and clean restarts, determined by the seed."""

    def __init__(self, seed: int, *, flush_every_message: bool) -> None:
        self.rng = Random(seed)
        self.world = LogWorld(SMALL, flush_every_message=flush_every_message, seed=seed)
        self.reported = [Reported() for _ in range(PARTITIONS)]
        self.counter = 0

    def log(self, partition: int) -> PartitionLog:
        return self.world.logs.get(TOPIC, partition)

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            action = self.rng.random()
            if action < 0.8:
                for _ in range(self.rng.randint(1, 4)):
                    self.append(self.rng.randrange(PARTITIONS))
                self.world.clock.run_tick() if self.rng.random() < 0.3 else self.world.tick()
            elif action < 0.9:
                self.truncate(self.rng.randrange(PARTITIONS))
            else:
                self.world.tick()
                self.world.restart()
        self.world.tick()

    def append(self, partition: int) -> None:
        reported = self.reported[partition]
        values = [
            b"%d-" % (self.counter + at) + b"x" * self.rng.randint(0, 150) for at in range(self.rng.randint(1, 3))
        ]
        self.counter += len(values)
        sequence = reported.next_sequence
        batch = batch_of(*values, producer_id=partition + 1, producer_epoch=0, base_sequence=sequence)
        accepted: list[AppendInfo] = []

        def on_durable(error: ErrorCode) -> None:
            assert error is ErrorCode.NONE
            reported.answered |= {accepted[0].base_offset + at: value for at, value in enumerate(values)}
            reported.last_batch = (sequence, accepted[0].base_offset, accepted[0].last_offset)

        now = self.world.clock.wall_ms()
        info = self.log(partition).append(batch, origin=Origin.CLIENT, now_wall_ms=now, on_durable=on_durable)
        assert isinstance(info, AppendInfo)
        assert not info.duplicate
        accepted.append(info)
        reported.appended |= {info.base_offset + at: value for at, value in enumerate(values)}
        reported.next_sequence += len(values)

    def truncate(self, partition: int) -> None:
        log, reported = self.log(partition), self.reported[partition]
        reported.asked_start = self.rng.randint(log.log_start_offset, log.high_watermark)
        assert self.world.delete_records(reported.asked_start, partition) is ErrorCode.NONE
        reported.log_start = log.log_start_offset

    def die(self, model: CrashModel) -> LogManager:
        self.world.crash(model)
        return self.world.start()

    def check(self) -> None:
        for partition, reported in enumerate(self.reported):
            log = self.log(partition)
            assert reported.log_start <= log.log_start_offset <= max(reported.asked_start, reported.log_start)
            assert log.high_watermark == log.log_end_offset
            found = {record.offset: record.value for record in read_all(log, max_bytes=300)}
            for offset, value in reported.answered.items():
                if offset >= log.log_start_offset:
                    assert found.get(offset) == value, f"{log} lost {offset}"
            for offset, served in found.items():
                assert reported.appended.get(offset) == served, f"{log} serves something else at {offset}"
            self.check_producer(partition)

    def check_producer(self, partition: int) -> None:
        """Send the last answered batch again; an idempotent producer must get a duplicate, not a second copy."""
        reported, log = self.reported[partition], self.log(partition)
        if reported.last_batch is None:
            return
        sequence, first, last = reported.last_batch
        producer = log.producers.get(partition + 1)
        if producer is not None and producer.batches[-1].last_offset == last:
            values = [reported.appended[offset] for offset in range(first, last + 1)]
            batch = batch_of(*values, producer_id=partition + 1, producer_epoch=0, base_sequence=sequence)
            info = log.append(batch, origin=Origin.CLIENT, now_wall_ms=self.world.clock.wall_ms())
            assert isinstance(info, AppendInfo)
            assert (info.base_offset, info.last_offset, info.duplicate) == (first, last, True)
        elif last >= log.log_start_offset:
            assert producer is not None
            assert producer.batches[-1].last_offset > last  # one that was not answered survived too

    def go_on(self) -> None:
        for partition, reported in enumerate(self.reported):
            producer = self.log(partition).producers.get(partition + 1)
            end = self.log(partition).log_end_offset
            reported.appended = {offset: value for offset, value in reported.appended.items() if offset < end}
            reported.next_sequence = 0 if producer is None else producer.batches[-1].last_sequence + 1
            reported.last_batch = None
        for partition in range(PARTITIONS):
            self.append(partition)
        self.world.tick()
        self.check()
        if self.world.flush_every_message:
            self.die(CrashModel.POWER_LOSS)
            self.check()
        self.world.restart()
        self.check()

    def lose_power_after_reading(self) -> None:
        """Lose power after reading: records that readers saw after a restart must be durable by then."""
        for partition, reported in enumerate(self.reported):
            reported.answered |= {record.offset: record.value or b"" for record in read_all(self.log(partition))}
        self.die(CrashModel.POWER_LOSS)
        self.check()


def steps_of(seed: int, rounds: int, *, flush_every_message: bool) -> range:
    """Return the disk operations of the workload, without those that create the empty data folder."""
    workload = Workload(seed, flush_every_message=flush_every_message)
    first = workload.world.fs.steps + 1
    workload.run(rounds)
    workload.check()
    return range(first, workload.world.fs.steps + 1)


def die_at_every_step(seed: int, rounds: int, model: CrashModel, *, flush_every_message: bool) -> None:
    steps = steps_of(seed, rounds, flush_every_message=flush_every_message)
    assert len(steps) > 90
    for step in steps:
        workload = Workload(seed, flush_every_message=flush_every_message)
        workload.world.fs.crash_at = step
        with pytest.raises(SimulatedCrash):
            workload.run(rounds)
        workload.die(model)
        workload.check()
        if flush_every_message and step % 3 == 0:
            workload.lose_power_after_reading()
        workload.go_on()


def test_process_killed_at_every_disk_operation() -> None:
    die_at_every_step(0, 18, CrashModel.PROCESS_KILL, flush_every_message=False)


def test_process_killed_at_every_disk_operation_while_every_message_is_flushed() -> None:
    die_at_every_step(0, 12, CrashModel.PROCESS_KILL, flush_every_message=True)


@pytest.mark.parametrize("seed", [0, 2])
def test_power_lost_at_every_disk_operation_while_every_message_is_flushed(seed: int) -> None:
    die_at_every_step(seed, 12, CrashModel.POWER_LOSS, flush_every_message=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", list(CrashModel))
def test_dying_again_and_again_during_recovery(seed: int, model: CrashModel) -> None:
    """The broker crashes during a start; the next start must succeed just as well."""
    rng = Random(seed)
    steps = steps_of(seed, 12, flush_every_message=True)
    workload = Workload(seed, flush_every_message=True)
    workload.world.fs.crash_at = rng.choice(steps[len(steps) // 2 :])
    with pytest.raises(SimulatedCrash):
        workload.run(12)
    workload.world.crash(model)
    for step in range(1, 30):
        workload.world.fs.crash_at = workload.world.fs.steps + step
        try:
            workload.world.start()
            workload.world.tick()
        except SimulatedCrash:
            workload.world.crash(model)
            continue
        workload.world.fs.crash_at = None
        workload.world.crash(model)
    workload.world.start()
    workload.check()
    workload.go_on()


@pytest.mark.parametrize("model", list(CrashModel))
def test_a_deleted_topic_never_comes_back_under_its_name(model: CrashModel) -> None:
    """The new topic is empty, whatever a crash leaves of the old folders: the metadata is committed first."""
    step = 0
    while True:
        step += 1
        world = LogWorld(SMALL, flush_every_message=True, seed=step)
        for partition in range(2):
            log = world.logs.get(TOPIC, partition)
            for at in range(8):
                log.append(batch_of(b"old%d" % at * 20), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
                world.tick()
            assert world.delete_records(5, partition) is ErrorCode.NONE
        old = world.topics.images[TOPIC]
        world.topics.delete(TOPIC)
        world.topics.images[TOPIC] = TopicImage(TOPIC, OTHER_ID, 3)
        world.fs.crash_at = world.fs.steps + step
        try:
            world.logs.delete_topic(TOPIC, old.topic_id)
            world.tick()
        except SimulatedCrash:
            pass
        died = world.fs.steps >= (world.fs.crash_at or 0)
        world.crash(model)
        world.start()
        log = world.log
        assert (log.log_start_offset, log.log_end_offset, log.topic_id) == (0, 0, OTHER_ID)
        assert read_all(log) == []
        world.produce(b"new")
        world.restart()
        assert [record.value for record in read_all(world.log)] == [b"new"]
        if not died:
            return
