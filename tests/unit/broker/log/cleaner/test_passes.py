"""Complete passes over real segments with random histories, transactions, restarts and little memory lose nothing."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.log.cleaner import cleaning, rewrite, schedule
from shareq.broker.log.cleaner import survivors as survivors_module
from shareq.broker.log.cleaner.schedule import CleanerSettings
from shareq.broker.log.cleaner.survivors import SUBJECT_BYTES, Rule, latest_value, share_state, survivors
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records import retain
from shareq.protocol.records.batch import Compression, Record, RecordData, build_batch, decode_records
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.worlds.cleaner import COMPACTED, clean, reported, state_of
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld

PRODUCERS = (1, 2)
LONG_MS = 10**7
"""A time that is longer than a history; not much longer, because retention checks every five minutes."""


def committed(log: PartitionLog) -> list[Record]:
    upto = log.last_stable_offset
    aborted = log.aborted_transactions(log.log_start_offset, upto)
    records: list[Record] = []
    offset = log.log_start_offset
    while offset < upto:
        result = log.read(offset, 700, upto=upto)
        assert isinstance(result, ReadResult)
        assert result.batches, f"nothing at {offset} of {log}"
        for span in result.batches:
            offset = span.last_offset + 1
            gone = span.is_transactional and any(
                entry.producer_id == span.producer_id and entry.first_offset <= span.base_offset <= entry.last_offset
                for entry in aborted
            )
            if not span.is_control and not gone:
                records += decode_records(result.records[span.position : span.position + span.size])
    return records


class History:
    """A random log. `committed`: its records, without those of aborted transactions."""

    def __init__(self, seed: int, rule: Rule, *, transactions: bool) -> None:
        self.rng = Random(seed)
        self.rule = rule
        self.transactions = transactions
        self.retention_ms = self.rng.choice((0, 5_000, LONG_MS))
        settings = COMPACTED._replace(
            delete_retention_ms=self.retention_ms,
            segment_bytes=self.rng.choice((300, 900)),
            producer_id_expiration_ms=10**15,
        )
        self.world = LogWorld(settings, seed=seed, rule=rule)
        self.world.cleaner = CleanerSettings(
            backoff_ms=LONG_MS, memory_bytes=self.rng.choice((1, 4, 99)) * SUBJECT_BYTES
        )
        self.committed: list[Record] = []
        self.open: dict[int, list[Record]] = {}
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.values = 0

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            action = self.rng.random()
            if action < 0.75:
                self.append()
            elif action < 0.85 and self.open:
                self.end(self.rng.choice(sorted(self.open)), commit=self.rng.random() < 0.5)
            elif action < 0.9:
                self.world.clock.advance(self.rng.choice((10, 3_000, 20_000)))
            elif action < 0.97:
                self.clean()
            else:
                self.restart()
        for producer in sorted(self.open):
            self.end(producer, commit=True)

    def append(self) -> None:
        rng, log = self.rng, self.world.log
        producer = rng.choice(PRODUCERS) if rng.random() < 0.5 else -1
        transactional = self.transactions and producer > 0 and (producer in self.open or rng.random() < 0.7)
        contents = [RecordData(self.key(), self.value(), self.headers()) for _ in range(rng.randint(1, 4))]
        now = self.world.clock.wall_ms()
        batch = build_batch(
            contents,
            timestamp_ms=now,
            producer_id=producer,
            producer_epoch=0 if producer > 0 else -1,
            base_sequence=self.sequences[producer] if producer > 0 else -1,
            compression=rng.choice((Compression.NONE, Compression.NONE, Compression.ZSTD, Compression.LZ4)),
            transactional=transactional,
        )
        info = log.append(batch, origin=Origin.CLIENT, now_wall_ms=now)
        assert isinstance(info, AppendInfo), (info, producer)
        self.world.tick()
        records = [
            Record(info.base_offset + at, now, data.key, data.value, data.headers) for at, data in enumerate(contents)
        ]
        if producer > 0:
            self.sequences[producer] += len(contents)
        if transactional:
            self.open.setdefault(producer, []).extend(records)
        else:
            self.committed += records

    def key(self) -> bytes:
        if self.rule is share_state:
            return self.rng.choice((b"\0\0", b"\0\1", b"\0\1")) + b"p%d" % self.rng.randint(0, 3)
        return b"k%d" % self.rng.randint(0, 7)

    def value(self) -> bytes | None:
        self.values += 1
        return None if self.rng.random() < 0.15 else b"v%d" % self.values

    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        return (("h", b"%d" % self.values),) if self.rng.random() < 0.2 else ()

    def end(self, producer: int, *, commit: bool) -> None:
        now = self.world.clock.wall_ms()
        marker = build_end_transaction_marker(
            commit=commit, producer_id=producer, producer_epoch=0, coordinator_epoch=1, timestamp_ms=now
        )
        assert isinstance(self.world.log.append(marker, origin=Origin.COORDINATOR, now_wall_ms=now), AppendInfo)
        self.world.tick()
        records = self.open.pop(producer)
        if commit:
            self.committed = sorted(self.committed + records)

    def restart(self) -> None:
        """Restart, sometimes without producer snapshots, which are then rebuilt from the remaining log."""
        if self.rng.random() < 0.5:
            self.world.restart()
        else:
            self.world.tick()
            self.world.crash(CrashModel.PROCESS_KILL)
            if self.rng.random() < 0.5:
                for path in self.world.fs.paths():
                    if path.endswith(".snapshot"):
                        self.world.fs.remove(path)
            self.world.start()
        self.check()

    def clean(self) -> None:
        log = self.world.log
        self.world.clock.advance(100)
        clean(self.world)
        assert log.refusal is ErrorCode.NONE
        assert self.world.logs.cleaner.uncleanable == []
        self.check()

    def check(self) -> None:
        log = self.world.log
        expected = [record for record in self.committed if record.offset < log.last_stable_offset]
        found = committed(log)
        assert set(found) <= set(expected)
        assert [record.offset for record in found] == sorted({record.offset for record in found})
        assert state_of(found, self.rule) == state_of(expected, self.rule)
        for producer, next_sequence in self.sequences.items():
            known = log.producers.get(producer)
            if next_sequence:
                assert known is not None
                assert (known.epoch, known.batches[-1].last_sequence) == (0, next_sequence - 1)

    def clean_everything(self) -> None:
        """Clean until nothing is dirty; twice, with all tombstones expired."""
        self.world.settings = self.world.settings._replace(min_cleanable_dirty_ratio=0.0)
        self.world.logs.reload_settings()
        for _ in range(3):
            self.world.log.roll(self.world.clock.wall_ms())
            self.world.clock.advance(2 * LONG_MS)
            self.world.tick()
            self.clean_as_if_never_cleaned()

    def clean_as_if_never_cleaned(self) -> None:
        self.world.logs.cleaner.forget([(TOPIC, 0)])
        clean(self.world)
        self.check()

    def files(self) -> dict[str, bytes]:
        return {path: bytes(self.world.fs.content(path)) for path in self.world.fs.paths() if path.endswith(".log")}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", [latest_value, share_state])
def test_a_random_history_replays_to_the_same_after_every_pass(seed: int, rule: Rule) -> None:
    history = History(seed, rule, transactions=seed % 2 == 1)
    history.run(150)
    history.check()
    history.clean_everything()


@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("rule", [latest_value, share_state])
def test_after_all_passes_exactly_the_survivors_are_left(seed: int, rule: Rule) -> None:
    history = History(seed, rule, transactions=seed % 2 == 1)
    history.run(120)
    history.clean_everything()
    last = history.world.log.active_segment
    assert last is not None
    sealed = [record for record in history.committed if record.offset < last.base_offset]
    expected = survivors(reported(sealed), rule, ends_are_over=lambda offset: True)
    assert reported(committed(history.world.log)) == expected + reported(
        [record for record in history.committed if record.offset >= last.base_offset]
    )


@pytest.mark.parametrize("seed", range(200, 203))
def test_cleaning_again_changes_no_byte(seed: int) -> None:
    history = History(seed, latest_value if seed % 2 else share_state, transactions=True)
    history.run(150)
    history.clean_everything()
    before = history.files()
    passes = history.world.logs.cleaner.passes
    writes = len(history.world.fs.history)
    history.clean_as_if_never_cleaned()
    assert history.world.logs.cleaner.passes > passes
    assert history.files() == before
    swaps = [path for kind, path in history.world.fs.history[writes:] if path.endswith(".swap")]
    assert swaps == []


def test_the_history_is_not_a_trivial_one() -> None:
    kinds = set()
    for seed in range(1, 12, 2):
        history = History(seed, latest_value, transactions=True)
        history.run(150)
        kinds |= {f"aborted {bool(len(history.world.log.producers.aborted))}"}
        kinds |= {f"passes {history.world.logs.cleaner.passes > 2}"}
        for segment in history.world.log.segments:
            data = segment.read_at(0, segment.size)
            kinds |= {f"horizon {bool(data[22] & 0x40)}"} if data else set()
        kinds |= {"txnindex" for path in history.world.fs.paths() if path.startswith(DATA) and "txnindex" in path}
    assert {"aborted True", "passes True", "horizon False", "txnindex"} <= kinds


def cleaned_in_slices(monkeypatch: pytest.MonkeyPatch, seed: int, rule: Rule, records: int) -> dict[str, bytes]:
    """Return the files of a history that is processed `records` records at a time."""
    for module in (retain, rewrite, cleaning):
        monkeypatch.setattr(module, "SLICE_RECORDS", records)
    monkeypatch.setattr(survivors_module, "_SUBJECTS", records)
    monkeypatch.setattr(schedule, "PAUSE_MS", 0)  # so that all recorded times are equal
    history = History(seed, rule, transactions=seed % 2 == 1)
    history.run(100)
    history.clean_everything()
    return history.files()


@pytest.mark.parametrize("seed", range(300, 304))
@pytest.mark.parametrize("rule", [latest_value, share_state])
def test_slices_change_no_byte(monkeypatch: pytest.MonkeyPatch, seed: int, rule: Rule) -> None:
    whole = cleaned_in_slices(monkeypatch, seed, rule, 10**9)
    assert any(whole.values())
    for records in (1, 2, 3):
        assert cleaned_in_slices(monkeypatch, seed, rule, records) == whole
