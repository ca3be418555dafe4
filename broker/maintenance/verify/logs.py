"""The check of one partition's folder: its segments byte by byte, and every file beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.promises.checkpoints import format_epochs, parse_epochs
from shareq.broker.log.segments.damage import DamagedRange
from shareq.broker.log.segments.files import (
    INDEX_SUFFIXES,
    LEADER_EPOCH_FILE,
    PARTITION_METADATA_FILE,
    SWAP_SUFFIX,
    TEMPORARY_SUFFIX,
    TRANSIENT_SUFFIXES,
)
from shareq.broker.log.segments.index_checksums import CHECKSUMS_SUFFIX, parse_checksums
from shareq.broker.log.segments.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    file_name,
    offset_of_file,
    runs_past_the_end,
)
from shareq.broker.log.segments.txn_index import TXN_INDEX_SUFFIX, entries_from_bytes, entries_to_bytes
from shareq.broker.maintenance.verify.findings import (
    Finding,
    HealHeader,
    Level,
    LoseBatches,
    LoseTail,
    MissingOffsets,
    RemoveFile,
    Report,
    RewriteFile,
)
from shareq.broker.maintenance.verify.indexes import (
    BatchTable,
    offset_index_problem,
    snapshot_problem,
    time_index_problem,
    txn_index_problem,
)
from shareq.broker.maintenance.verify.internal_records import SERDES, unreadable_records
from shareq.broker.maintenance.verify.segments import SegmentFacts, check_segment, healed_header
from shareq.protocol.records.batch import BatchHeader
from shareq.protocol.records.checksum import crc32c

SKIP_DAMAGE: Final = "--skip-damage"
CUT_TAILS: Final = "--cut-tails"
MAX_BELIEVED_OFFSETS: Final = 2**36  # more than a segment ever has: numbers, not records
MAX_RECORD_FINDINGS: Final = 20  # of one segment; the rest are counted


@dataclass(frozen=True, slots=True)
class LogExpectation:
    """The facts known about a log from other files than its own. Offsets are exclusive ends; None means unknown.

    `start`: the log start offset. `promised_end`: the log must not end before it. `active`: the base offset of the
    newest segment, which must exist. `gaps`: a cleaner may have removed batches. `kept_tail`: the log was closed
    cleanly, so no write was cut off. `whole_writes`: the machine has not stopped since, so a write that was cut off
    reaches beyond the end of the file. `cut_from`: nothing was promised from here on, and a power loss may have
    taken any of it. `derived`: the severity of a wrong file that a start makes again; it may never have been synced.
    """

    start: int | None = None
    promised_end: int | None = None
    active: int | None = None
    gaps: bool = True
    kept_tail: bool = False
    whole_writes: bool = False
    cut_from: int | None = None
    derived: Level = Level.DAMAGE


@dataclass(slots=True)
class LogFacts:
    """The facts found about a log: its segments' base offsets, its end offset, and its batches."""

    bases: list[int] = field(default_factory=list)
    end_offset: int = 0
    batches: int = 0


def check_log(
    fs: Fs,
    data_dir: str,
    name: str,
    topic: str,
    expected: LogExpectation,
    report: Report,
    *,
    decode: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> LogFacts:
    """Check every file of the folder `name`. With `decode`, decode the records of ordinary topics, too. Raise
    OSError.
    """
    return _LogCheck(
        fs=fs,
        data_dir=data_dir,
        name=name,
        topic=topic,
        expected=expected,
        report=report,
        decode=decode,
        on_bytes=on_bytes,
    ).run()


class _LogCheck:
    def __init__(
        self,
        fs: Fs,
        data_dir: str,
        name: str,
        topic: str,
        expected: LogExpectation,
        report: Report,
        decode: bool,
        on_bytes: Callable[[int], None],
    ) -> None:
        self._fs = fs
        self._folder = f"{data_dir}/{name}"
        self._name = name
        self._serde = SERDES.get(topic)
        self._expected = expected
        self._report = report
        self._decode = decode or self._serde is not None
        self._on_bytes = on_bytes
        self._names: list[str] = []
        self._producers = ProducerStates()
        self._epochs: set[int] = set()
        self._facts = LogFacts()
        self._cut_at: int | None = None  # a start will cut the log here
        self._swapped: list[int] = []  # segments that a start gives their name

    def run(self) -> LogFacts:
        self._names = self._fs.list_dir(self._folder)
        self._report.files += len(self._names)
        self._check_leftovers()
        self._check_epochs()
        bases = [base for each in self._names if (base := offset_of_file(each, LOG_SUFFIX)) is not None]
        self._facts.bases = bases
        self._swapped = [
            base
            for each in self._names
            if each.endswith(SWAP_SUFFIX)
            and (base := offset_of_file(each.removesuffix(SWAP_SUFFIX), LOG_SUFFIX)) is not None
        ]
        self._check_start(bases)
        first = bases[0] if bases else 0
        for at, base in enumerate(bases):
            limit = bases[at + 1] if at + 1 < len(bases) else None
            self._check_segment(base, limit, first)
        if not bases:
            self._tell_of_nothing_left()
        self._check_orphans(bases)
        self._check_snapshots()
        return self._facts

    # -- segments

    def _check_start(self, bases: Sequence[int]) -> None:
        start = self._expected.start
        if start is None or not bases or bases[0] <= start or self._is_swapped(start, bases[0]):
            return
        self._missing(start, bases[0], f"the log begins at offset {start}, its first segment at {bases[0]}")

    def _is_swapped(self, first: int, end: int) -> bool:
        """Return True if the cleaner was swapping in a segment where these offsets are missing; `end` is exclusive."""
        return any(first <= base < end for base in self._swapped)

    def _check_segment(self, base: int, limit: int | None, first: int) -> None:
        path = f"{self._folder}/{file_name(base, LOG_SUFFIX)}"
        file = self._fs.open(path)
        try:
            size = file.size()
            table = BatchTable(base, size)
            bad: list[tuple[int | None, int, str]] = []
            facts = check_segment(
                file.read_at,
                size,
                base,
                limit,
                gaps=self._expected.gaps,
                on_batch=partial(self._on_batch, table, bad),
            )
            self._producers.written()
            self._facts.end_offset = facts.end_offset if limit is None else limit
            self._tell_of_damage(base, limit, facts, file.read_at, size)
        finally:
            file.close()
        self._tell_of_records(base, bad)
        self._report.batches += facts.batches
        self._report.size += size
        self._on_bytes(size)
        self._facts.batches += facts.batches
        end = facts.end_offset if limit is None else limit
        damaged = bool(facts.damaged) or facts.tail is not None
        self._check_indexes(base, end, first, table, damaged=damaged)

    def _on_batch(
        self,
        table: BatchTable,
        bad: list[tuple[int | None, int, str]],
        position: int,
        header: BatchHeader,
        batch: Callable[[], bytes],
    ) -> None:
        table.add(position, header.last_offset, header.newest_timestamp)
        if header.producer_id >= 0:
            self._producers.replay(header, batch)
            self._report.highest_producer_id = max(self._report.highest_producer_id, header.producer_id)
        if self._epochs and header.leader_epoch not in self._epochs:
            self._tell_of_epoch(table.base_offset, position, header)
        if self._decode and not header.is_control:
            bad.extend((offset, position, why) for offset, why in unreadable_records(self._serde, batch()))

    def _tell_of_epoch(self, base: int, position: int, header: BatchHeader) -> None:
        path = self._path(base, LOG_SUFFIX)
        epoch = max(self._epochs)
        heals = HealHeader(path, position + 12, epoch.to_bytes(4, "big")) if len(self._epochs) == 1 else None
        self._report.add(
            Finding(
                path,
                f"leader epoch {header.leader_epoch} at offset {header.base_offset}, of which {LEADER_EPOCH_FILE} "
                "knows nothing",
                "the records are whole; clients that compare epochs may think that the log was cut there",
                position,
                remedy=heals,
            )
        )

    def _tell_of_damage(
        self, base: int, limit: int | None, facts: SegmentFacts, read_at: Callable[[int, int], bytes], size: int
    ) -> None:
        path = self._path(base, LOG_SUFFIX)
        ranges = list(facts.damaged)
        is_short = limit is not None and facts.end_offset < limit and not self._is_swapped(facts.end_offset, limit)
        if limit is not None and (facts.tail is not None or is_short):
            fault = facts.tail or f"it ends at offset {facts.end_offset}, and the next segment begins at {limit}"
            ranges.append(DamagedRange(facts.end_offset, limit, facts.tail_position, size, fault))
        for damaged in ranges:
            if self._cut_at is None and self._is_unpromised(damaged.first_offset):
                self._cut_at = damaged.first_offset
                self._report.add(_cut_finding(path, damaged))
            if self._cut_at is None:
                self._report.add(_range_finding(path, damaged, healed_header(read_at, damaged)))
        if limit is None and self._cut_at is None:
            self._tell_of_end(base, facts, read_at, size)
        elif self._cut_at is not None:
            self._facts.end_offset = self._cut_at

    def _is_unpromised(self, offset: int) -> bool:
        return self._expected.cut_from is not None and offset >= self._expected.cut_from

    def _tell_of_end(self, base: int, facts: SegmentFacts, read_at: Callable[[int, int], bytes], size: int) -> None:
        """Report if the last segment is not the newest, or ends before its promised end."""
        due = self._expected.promised_end
        newest = self._expected.active
        if newest is not None and base < newest and facts.end_offset <= newest:
            self._tell_of_newest(newest, max(due or 0, newest))
            due = newest
        self._tell_of_tail(self._path(base, LOG_SUFFIX), facts, due, read_at, size)
        self._facts.end_offset = max(self._facts.end_offset, self._expected.promised_end or 0)

    def _tell_of_newest(self, base: int, end: int) -> None:
        """Report that the newest segment has no file. It reached at least to `end`."""
        if end > base:
            self._missing(base, end, f"the newest segment begins at offset {base}")
            return
        self._report.add(
            Finding(
                self._path(base, LOG_SUFFIX),
                "it is missing: the newest segment began with it",
                f"records from offset {base} on are lost, if there were any",
                remedy=MissingOffsets(self._path(base, LOG_SUFFIX), base, base),
                option=SKIP_DAMAGE,
            )
        )

    def _tell_of_nothing_left(self) -> None:
        """Report a folder without a segment."""
        start, promised = self._expected.start or 0, self._expected.promised_end or 0
        end = max(promised, self._expected.active or 0)
        if end > start:
            self._missing(start, end, f"no segment exists, and the log was promised to end at {end} or later")
        self._facts.end_offset = max(start, end)

    def _tell_of_tail(
        self, path: str, facts: SegmentFacts, promised: int | None, read_at: Callable[[int, int], bytes], size: int
    ) -> None:
        """Report on the end of the last segment: bytes of an incomplete write after a kill are no damage; missing
        promised bytes are.
        """
        end = facts.end_offset
        kept = self._expected.kept_tail or (
            self._expected.whole_writes and not runs_past_the_end(read_at, size, facts.tail_position)
        )
        if promised is not None and end < promised:
            fault = facts.tail or f"it ends at offset {end}, and was promised to end at {promised} or later"
            lost = DamagedRange(end, promised, facts.tail_position, size, fault)
            self._report.add(_range_finding(path, lost, healed_header(read_at, lost)))
        elif facts.tail is not None and kept:
            self._report.add(
                Finding(
                    path,
                    f"{facts.tail}, and nothing sound follows",
                    f"the log can be read up to offset {end}; the last {size - facts.tail_position} bytes cannot",
                    facts.tail_position,
                    remedy=LoseTail(path, facts.tail_position),
                    option=CUT_TAILS,
                )
            )
        elif facts.tail is not None:
            self._report.add(
                Finding(
                    path,
                    f"{facts.tail}: a write that was cut off",
                    f"a start removes the last {size - facts.tail_position} bytes; the log ends at offset {end}",
                    facts.tail_position,
                    Level.NOTE,
                    LoseTail(path, facts.tail_position),
                )
            )

    def _tell_of_records(self, base: int, bad: Sequence[tuple[int | None, int, str]]) -> None:
        path = self._path(base, LOG_SUFFIX)
        consequence = (
            "the coordinator skips it when it loads"
            if self._serde is not None
            else "its checksum is right, but clients cannot read it: consumers stop there"
        )
        for offset, position, why in bad[:MAX_RECORD_FINDINGS]:
            what = "the records of this batch" if offset is None else f"the record at offset {offset}"
            self._report.add(Finding(path, f"{what} cannot be read: {why}", consequence, position, Level.NOTE))
        if len(bad) > MAX_RECORD_FINDINGS:
            rest = len(bad) - MAX_RECORD_FINDINGS
            self._report.add(Finding(path, f"{rest} more records that cannot be read", consequence, level=Level.NOTE))

    def _missing(self, first: int, end: int, why: str) -> None:
        self._report.add(
            Finding(
                self._path(first, LOG_SUFFIX),
                f"it is missing: {why}",
                f"offsets {first} to {end - 1} are lost; the rest of the log can be read",
                remedy=MissingOffsets(self._path(first, LOG_SUFFIX), first, end),
                option=SKIP_DAMAGE,
            )
        )

    # -- files beside the segments

    def _check_indexes(self, base: int, end: int, first: int, table: BatchTable, *, damaged: bool) -> None:
        checks: Mapping[str, Callable[[bytes], str]] = {
            INDEX_SUFFIX: partial(offset_index_problem, table=table),
            TIME_INDEX_SUFFIX: partial(time_index_problem, table=table),
        }
        for suffix, problem_in in checks.items():
            if file_name(base, suffix) in self._names and not damaged:
                self._check_derived(self._path(base, suffix), problem_in, "reads are slower, until a start rebuilds it")
        if not damaged:
            self._check_txn_index(base, end, first)
        self._check_checksums(base, end, first)

    def _check_checksums(self, base: int, end: int, first: int) -> None:
        """Check the index files against the checksums beside them."""
        if file_name(base, CHECKSUMS_SUFFIX) not in self._names:
            return
        path = self._path(base, CHECKSUMS_SUFFIX)
        try:
            checksums = parse_checksums(self._fs.read_bytes(f"{self._folder}/{file_name(base, CHECKSUMS_SUFFIX)}"))
        except ValueError as error:
            consequence = "a start believes the index files without it"
            self._derived(path, str(error), consequence, RemoveFile(path))
            return
        reported = {finding.path for finding in self._report.findings}
        for suffix, crc in checksums.items():
            name = file_name(base, suffix)
            content = self._fs.read_bytes(f"{self._folder}/{name}") if name in self._names else None
            if (content is None or crc32c(content) != crc) and f"{self._name}/{name}" not in reported:
                problem = "it is missing" if content is None else "its checksum does not match"
                remedy: RemoveFile | RewriteFile = RemoveFile(f"{self._name}/{name}")
                if suffix == TXN_INDEX_SUFFIX:
                    remedy = RewriteFile(f"{self._name}/{name}", self._txn_index(base, end, first, content or b""))
                self._derived(f"{self._name}/{name}", problem, "a start rebuilds it from the log", remedy)

    def _check_txn_index(self, base: int, end: int, first: int) -> None:
        """Check the index against the log's aborted transactions. A sealed segment that has some must have the file."""
        found = self._producers.aborted.ending_in(base, end)
        is_there = file_name(base, TXN_INDEX_SUFFIX) in self._names
        if not is_there and (not found or base == self._facts.bases[-1]):
            return
        path = self._path(base, TXN_INDEX_SUFFIX)
        data = self._fs.read_bytes(f"{self._folder}/{file_name(base, TXN_INDEX_SUFFIX)}") if is_there else b""
        problem = txn_index_problem(data, base, end, first, found, gaps=self._expected.gaps)
        if not problem:
            return
        content = self._txn_index(base, end, first, data)
        consequence = "records of aborted transactions could be read as committed, or the other way round"
        self._report.add(
            Finding(path, problem if is_there else "it is missing", consequence, remedy=RewriteFile(path, content))
        )

    def _txn_index(self, base: int, end: int, first: int, data: bytes) -> bytes:
        """Return the correct content: the log's aborted transactions, and the file's own from
        before the log's start.
        """
        found = self._producers.aborted.ending_in(base, end)
        older = [entry for entry in entries_from_bytes(data, base, end) or () if entry.first_offset < first]
        return entries_to_bytes(sorted({*older, *found}, key=lambda entry: entry.last_offset))

    def _check_derived(self, path: str, problem_in: Callable[[bytes], str], consequence: str) -> None:
        problem = problem_in(self._fs.read_bytes(f"{self._folder.removesuffix(self._name)}{path}"))
        if problem:
            self._derived(path, problem, consequence, RemoveFile(path))

    def _derived(self, path: str, problem: str, consequence: str, remedy: RemoveFile | RewriteFile) -> None:
        """Report a file that a start makes again without loss."""
        self._report.add(Finding(path, problem, consequence, level=self._expected.derived, remedy=remedy))

    def _check_orphans(self, bases: Sequence[int]) -> None:
        """Report index files without their segment. They are left by a kill if old segments were being deleted;
        otherwise the segment is lost.
        """
        for suffix in INDEX_SUFFIXES:
            for each in self._names:
                base = offset_of_file(each, suffix)
                if base is None or base in bases:
                    continue
                if not bases or base < bases[-1]:
                    self._note(each, "its segment is not there", "a start removes it")
                else:
                    path = f"{self._name}/{each}"
                    consequence = f"the records from offset {base} on are lost; a start removes it"
                    problem = "its segment, the last one, is not there"
                    self._report.add(Finding(path, problem, consequence, remedy=RemoveFile(path), option=SKIP_DAMAGE))

    def _check_snapshots(self) -> None:
        for each in self._names:
            if offset_of_file(each, SNAPSHOT_SUFFIX) is not None:
                self._check_derived(
                    f"{self._name}/{each}", snapshot_problem, "a start reads more of the log to find its producers"
                )

    def _check_epochs(self) -> None:
        if LEADER_EPOCH_FILE not in self._names:
            return
        path = f"{self._name}/{LEADER_EPOCH_FILE}"
        try:
            self._epochs = {
                epoch for epoch, _ in parse_epochs(self._fs.read_bytes(f"{self._folder}/{LEADER_EPOCH_FILE}"))
            }
        except ValueError as error:
            remedy = RewriteFile(path, format_epochs([(0, 0)]))
            self._derived(path, str(error), "a start takes epoch 0", remedy)

    def _check_leftovers(self) -> None:
        for each in self._names:
            if each.endswith(TEMPORARY_SUFFIX):
                self._note(each, "half written", "a start removes it")
            elif each.endswith(TRANSIENT_SUFFIXES):
                self._note(each, "the cleaner was interrupted", "a start finishes or undoes it")
            elif not _is_ours(each):
                self._note(each, "not a file of ours", "it is left alone")

    def _note(self, each: str, problem: str, consequence: str) -> None:
        self._report.add(Finding(f"{self._name}/{each}", problem, consequence, level=Level.NOTE))

    def _path(self, base: int, suffix: str) -> str:
        return f"{self._name}/{file_name(base, suffix)}"


def _range_finding(path: str, damaged: DamagedRange, healed: bytes | None) -> Finding:
    first, last = damaged.first_offset, damaged.next_offset - 1
    if healed is not None:
        return Finding(
            path,
            f"{damaged.fault}; the batch of offsets {first} to {last} is whole but for its header",
            f"offsets {first} to {last} cannot be read; the rest can",
            damaged.position,
            remedy=HealHeader(path, damaged.position, healed),
        )
    if last - first > MAX_BELIEVED_OFFSETS:
        consequence = f"nothing from offset {first} on can be read in this segment"
        cut = LoseTail(path, damaged.position)
        return Finding(path, damaged.fault, consequence, damaged.position, remedy=cut, option=CUT_TAILS)
    return Finding(
        path,
        damaged.fault,
        f"offsets {first} to {last} cannot be read; clients get CORRUPT_MESSAGE there, the rest of the log can be read",
        damaged.position,
        remedy=LoseBatches(path, damaged.position, damaged.end, first, damaged.next_offset),
        option=SKIP_DAMAGE,
    )


def _cut_finding(path: str, damaged: DamagedRange) -> Finding:
    first = damaged.first_offset
    return Finding(
        path,
        f"{damaged.fault}, in what was not synced before the machine went down",
        f"a start cuts the log at offset {first}, and keeps what is sound of the rest in a .cut file beside it",
        damaged.position,
        Level.NOTE,
    )


def _is_ours(name: str) -> bool:
    stem, _, suffix = name.partition(".")
    return name in (PARTITION_METADATA_FILE, LEADER_EPOCH_FILE) or (len(stem) == 20 and stem.isdigit() and bool(suffix))
