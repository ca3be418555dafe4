"""Microseconds per append and read of a partition's log on this machine's disk.

    python -m bench.log [--batches 100000] [--value-bytes 100] [--per-flush 32] [--idempotent] [--profile]

One-record batches are built beforehand, appended as a client's and flushed every `--per-flush`, then read back. The
checksum's own share is timed apart and taken out of the last column. No loop runs: the clock's ticks are made by hand.
"""

from __future__ import annotations

import argparse
import cProfile
import platform
import pstats
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from shareq.broker.foundation.environment import Environment, TimerHandle
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.log.segments.cold_reads import BeingRead
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.records.checksum import crc32c

TOPIC = TopicImage("bench", bytes(range(16)), 1)
MOST_S = 60
TAIL_READS = 5000


class HandClock:
    """A `Clock` that only `tick` moves on."""

    def __init__(self) -> None:
        self._ready: deque[Callable[[], None]] = deque()

    stands_still: Final = False

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._ready.append(callback)

    def call_at(self, when_ms: int, callback: Callable[[], None]) -> TimerHandle:
        return NoTimer()

    def tick(self) -> None:
        for _ in range(len(self._ready)):
            self._ready.popleft()()


class NoTimer:
    """A timer that never fires."""

    def cancel(self) -> None: ...


class OneTopic:
    """A `KnownTopics` with the benchmark's topic."""

    def topic(self, name: str) -> TopicImage | None:
        return TOPIC if name == TOPIC.name else None

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return TOPIC if topic_id == TOPIC.topic_id else None

    def deleted_topics(self) -> list[TopicImage]:
        return []

    def folders_are_gone(self, topic_ids: Collection[bytes]) -> None: ...


def append_all(log: PartitionLog, clock: HandClock, batches: list[bytes], per_flush: int) -> float:
    """Append and flush all batches; return the seconds."""
    now = clock.wall_ms()
    durable = 0

    def on_durable(error: ErrorCode) -> None:
        nonlocal durable
        durable += error is ErrorCode.NONE

    started = time.perf_counter()
    for start in range(0, len(batches), per_flush):
        for batch in batches[start : start + per_flush]:
            info = log.append(batch, origin=Origin.CLIENT, now_wall_ms=now, on_durable=on_durable)
            if not isinstance(info, AppendInfo):
                raise RuntimeError(f"append: {info.name}")
        clock.tick()
    while durable < len(batches) and time.perf_counter() - started < MOST_S:
        time.sleep(0.001)  # a sync of new names has a thread of its own
        clock.tick()
    elapsed = time.perf_counter() - started
    if durable != len(batches):
        raise RuntimeError(f"{durable} of {len(batches)} batches are durable")
    return elapsed


def read_all(log: PartitionLog, max_bytes: int) -> tuple[float, int]:
    """Read everything in steps of `max_bytes`; return seconds and reads."""
    offset, reads = 0, 0
    started = time.perf_counter()
    while offset < log.high_watermark:
        result = log.read(offset, max_bytes, upto=log.high_watermark)
        if isinstance(result, BeingRead):
            continue  # until the threads have read it
        if isinstance(result, ErrorCode):
            raise RuntimeError(f"read at {offset}: {result.name}")
        offset = result.batches[-1].last_offset + 1
        reads += 1
    return time.perf_counter() - started, reads


def tail_reads(log: PartitionLog, clock: HandClock, batch: bytes, count: int) -> float:
    """Append one batch, flush, read it; return the seconds of the reads."""
    now = clock.wall_ms()
    spent = 0.0
    for _ in range(count):
        info = log.append(batch, origin=Origin.CLIENT, now_wall_ms=now)
        clock.tick()
        if not isinstance(info, AppendInfo):
            raise RuntimeError(f"append: {info.name}")
        started = time.perf_counter()
        result = log.read(info.base_offset, 1 << 20, upto=log.high_watermark)
        spent += time.perf_counter() - started
        if not isinstance(result, ReadResult) or len(result.batches) != 1:
            raise RuntimeError("a tail read did not give the one batch")
    return spent


def checksums(batches: list[bytes]) -> float:
    """Return the seconds for the checksums of these batches."""
    started = time.perf_counter()
    for batch in batches:
        crc32c(memoryview(batch)[21:])
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description="Microseconds per append and read of a partition's log")
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--per-flush", type=int, default=32)
    parser.add_argument("--idempotent", action="store_true", help="batches of one producer, with sequences")
    parser.add_argument("--profile", action="store_true", help="where the appends spend their time, nothing else")
    options = parser.parse_args()
    batches = make_batches(options.batches, options.value_bytes, idempotent=options.idempotent)
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {len(batches)} batches of {len(batches[0])} bytes"
    )
    with tempfile.TemporaryDirectory() as folder:
        clock = HandClock()
        env = Environment(clock, Random(0), OsFs(clock.call_soon))
        logs = LogManager(env, folder, lambda _topic: LogSettings())
        logs.open_all(OneTopic())
        if options.profile:
            profile(logs.get(TOPIC.name, 0), clock, batches, options.per_flush)
        else:
            measure(logs.get(TOPIC.name, 0), clock, batches, options.per_flush)
        logs.close(clean=False)
        started = time.perf_counter()
        LogManager(env, folder, lambda _topic: LogSettings()).open_all(OneTopic())
        print(f"recovery of {len(batches)} batches: {(time.perf_counter() - started) * 1e3:.0f} ms")


def make_batches(count: int, value_bytes: int, *, idempotent: bool) -> list[bytes]:
    """Return one-record batches as a client sends them."""
    record = [RecordData(None, bytes(value_bytes))]
    now = time.time_ns() // 1_000_000
    if not idempotent:
        return [bytes(build_batch(record, timestamp_ms=now)) for _ in range(count)]
    return [
        bytes(build_batch(record, timestamp_ms=now, producer_id=7, producer_epoch=0, base_sequence=sequence))
        for sequence in range(count)
    ]


def measure(log: PartitionLog, clock: HandClock, batches: list[bytes], per_flush: int) -> None:
    """Append and read; one line for each."""
    count = len(batches)
    append_all(log, clock, make_batches(1, 100, idempotent=False), 1)  # makes the files, and syncs their names
    seconds = append_all(log, clock, batches, per_flush)
    without = seconds - checksums(batches)
    print(
        f"append, flush every {per_flush}: {seconds / count * 1e6:.2f} us, without CRC {without / count * 1e6:.2f} us"
    )
    for max_bytes in (1 << 20, 64 << 10):
        seconds, reads = read_all(log, max_bytes)
        print(f"read {max_bytes >> 10} KiB: {seconds / reads * 1e6:.0f} us, {seconds / count * 1e6:.2f} us a batch")
    [batch] = make_batches(1, 100, idempotent=False)
    print(f"tail read of one batch: {tail_reads(log, clock, batch, TAIL_READS) / TAIL_READS * 1e6:.1f} us")


def profile(log: PartitionLog, clock: HandClock, batches: list[bytes], per_flush: int) -> None:
    """Print where the appends spend their time."""
    append_all(log, clock, make_batches(1, 100, idempotent=False), 1)
    profiler = cProfile.Profile()
    profiler.enable()
    append_all(log, clock, batches, per_flush)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
