"""The cost of the share-partition core per record: `python -m bench.share_core [--profile NAME]`.

Each scenario is one share partition over one record batch layout, without a log, a network or a persister: read
boundaries go in, effects come out, and every state write succeeds at once. The figure is CPU time, of the best of
several runs.
"""

from __future__ import annotations

import argparse
import cProfile
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from shareq.broker.share.core.effects import WriteState
from shareq.broker.share.core.partition import AckBatch, SharePartition
from shareq.broker.share.core.values import NO_KEYS
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.keys import KeyHashes
from shareq.protocol.share import AcquireMode

RECORDS = 10_000
SETTINGS = ShareGroupSettings(partition_max_record_locks=1_000_000)
ORDERED = ShareGroupSettings(order_by_key=True)
KEYS = 1_000
_CHANCE = Random(KEYS)
IN_TURN = [offset % KEYS for offset in range(RECORDS)]
AT_RANDOM = [_CHANCE.randrange(KEYS) for _ in range(RECORDS)]
ALTERNATING = ([1, 2, 3] * RECORDS)[:RECORDS]  # accept, release, reject


@dataclass(frozen=True, slots=True)
class Span:
    """Boundaries of one record batch, both inclusive."""

    base_offset: int
    last_offset: int


def spans(first: int, records: int, per_batch: int) -> list[Span]:
    """Return record batches of `per_batch` records from `first` on."""
    return [Span(base, base + per_batch - 1) for base in range(first, first + records, per_batch)]


def partition(settings: ShareGroupSettings = SETTINGS) -> SharePartition:
    """Return a share partition at offset 0."""
    core = SharePartition(SharePartitionKey("bench", bytes(16), 0), 0, settings)
    core.load(0, 0, (), log_start_offset=0, log_end_offset=1 << 40)
    return core


def acknowledge(core: SharePartition, batches: Sequence[AckBatch]) -> None:
    """Acknowledge and let the write succeed."""
    outcome = core.acknowledge("member", batches, 0)
    assert outcome.error is ErrorCode.NONE
    for effect in outcome.effects:
        if isinstance(effect, WriteState):
            core.on_state_written(effect.write_id, ErrorCode.NONE, 0)


def fetch(core: SharePartition, read: Sequence[Span], max_records: int = RECORDS, batch_size: int = 500) -> int:
    """Acquire once. Return the number of records."""
    offset = core.next_fetch_offset()
    assert core.can_acquire()
    acquired = core.acquire("member", AcquireMode.BATCH_OPTIMIZED, batch_size, max_records, offset, read, 0)
    core.next_deadline_ms()
    return sum(last - first + 1 for first, last, _ in acquired)


def whole_ranges() -> int:
    """Fetch and accept 20 times 500 records in one record batch each: one acknowledgement per fetch."""
    core = partition()
    for first in range(0, RECORDS, 500):
        fetch(core, spans(first, 500, 500))
        acknowledge(core, [AckBatch(first, first + 499, [1])])
    return RECORDS


def one_range() -> int:
    """Fetch and accept 10,000 records as one range."""
    core = partition()
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(0, RECORDS - 1, [1])])
    return RECORDS


def alternating() -> int:
    """Fetch 10,000 records as one range; accept, release and reject them in turn, one type per record."""
    core = partition()
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(0, RECORDS - 1, ALTERNATING)])
    return RECORDS


def alternating_in_500s() -> int:
    """Do as `alternating` does, in 20 fetches of 500 records."""
    core = partition()
    for first in range(0, RECORDS, 500):
        read = spans(first, 500, 500)
        offset = core.end_offset + 1 if first else 0
        core.acquire("member", AcquireMode.BATCH_OPTIMIZED, 500, 500, offset, read, 0)
        acknowledge(core, [AckBatch(first, first + 499, ALTERNATING[first : first + 500])])
    return RECORDS


def alternating_batches() -> int:
    """Do as `alternating` does, with one acknowledgement batch per record, all in one request."""
    core = partition()
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(offset, offset, [ALTERNATING[offset]]) for offset in range(RECORDS)])
    return RECORDS


def released_again() -> int:
    """Release every second of 10,000 records, fetch it again and accept it with the others."""
    core = partition()
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(0, RECORDS - 1, [1, 2] * (RECORDS // 2))])
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(offset, offset, [1]) for offset in range(1, RECORDS, 2)])
    assert core.start_offset == RECORDS
    return RECORDS


def one_by_one() -> int:
    """Fetch and accept each of 10,000 one-record batches alone: a request pair per record."""
    core = partition()
    for first in range(RECORDS):
        fetch(core, [Span(first, first)], max_records=1)
        acknowledge(core, [AckBatch(first, first, [1])])
    return RECORDS


def small_batches() -> int:
    """Fetch 10,000 one-record batches, 500 at a time, and accept each 500 as one range."""
    core = partition()
    for first in range(0, RECORDS, 500):
        fetch(core, spans(first, 500, 1), max_records=500)
        acknowledge(core, [AckBatch(first, first + 499, [1])])
    return RECORDS


def one_record_ranges() -> int:
    """Fetch 10,000 one-record batches with BatchSize 1, an in-flight batch per record, and accept 500 at a time."""
    core = partition()
    for first in range(0, RECORDS, 500):
        fetch(core, spans(first, 500, 1), max_records=500, batch_size=1)
        acknowledge(core, [AckBatch(first, first + 499, [1])])
    return RECORDS


def record_limit() -> int:
    """Take 10,000 records of one record batch in RECORD_LIMIT mode, one at a time."""
    core = partition()
    read = spans(0, RECORDS, RECORDS)
    for offset in range(RECORDS):
        core.acquire("member", AcquireMode.RECORD_LIMIT, 500, 1, core.next_fetch_offset(), read, 0)
        acknowledge(core, [AckBatch(offset, offset, [1])])
    return RECORDS


def keys_in_turn() -> int:
    """Take 10,000 records of one record batch with order by key, 1,000 keys in turn."""
    return _by_key(IN_TURN)


def keys_at_random() -> int:
    """Take 10,000 records of one record batch with order by key, 1,000 keys at random, so that a range has several."""
    return _by_key(AT_RANDOM)


def _by_key(keys: Sequence[int]) -> int:
    """Fetch and accept about 500 records at a time, at most one of each key."""
    core, read, records = partition(ORDERED), spans(0, RECORDS, RECORDS), 0
    hashes = KeyHashes(list(range(len(keys))), list(keys))
    while records < RECORDS:
        offset = core.next_fetch_offset()
        entering = hashes if core.keys_wanted(read) is not None else NO_KEYS
        acquired = core.acquire("member", AcquireMode.BATCH_OPTIMIZED, 500, 500, offset, read, 0, keys=entering)
        records += sum(last - first + 1 for first, last, _ in acquired)
        acknowledge(core, [AckBatch(first, last, [1]) for first, last, _ in acquired])
    return records


def expiry() -> int:
    """Let the locks of 10,000 records run out; every second record was accepted before."""
    core = partition()
    fetch(core, spans(0, RECORDS, RECORDS), batch_size=RECORDS)
    acknowledge(core, [AckBatch(offset, offset, [1]) for offset in range(1, RECORDS, 2)])
    core.on_deadline(SETTINGS.record_lock_duration_ms)
    return RECORDS


SCENARIOS: dict[str, Callable[[], int]] = {
    scenario.__name__: scenario
    for scenario in (
        whole_ranges,
        one_range,
        alternating,
        alternating_in_500s,
        alternating_batches,
        released_again,
        one_by_one,
        small_batches,
        one_record_ranges,
        record_limit,
        keys_in_turn,
        keys_at_random,
        expiry,
    )
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print microseconds per record for every scenario, or profile one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--profile", choices=sorted(SCENARIOS))
    options = parser.parse_args(arguments)
    if options.profile:
        cProfile.run(f"SCENARIOS[{options.profile!r}]()", sort="tottime")
        return
    print(f"{platform.platform()}, Python {platform.python_version()}, {RECORDS} records, best of {options.runs}")
    for name, scenario in SCENARIOS.items():
        best = min(_timed(scenario) for _ in range(options.runs))
        print(f"{best / RECORDS * 1e6:8.3f} us/record  {name}: {(scenario.__doc__ or '').strip()}")


def _timed(scenario: Callable[[], int]) -> float:
    began = time.process_time()
    scenario()
    return time.process_time() - began


if __name__ == "__main__":
    main()
