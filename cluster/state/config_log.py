"""`__shareq_config`: the nodes' common configuration: properties of groups, users, rights and quotas.

write ---> Produce, acks=all ---> the log ---> read by every node, in order ---> the state, and calls of listeners

The topic is compacted and has one partition. Any node writes to it; the last record of a row counts. A node applies its
own changes when it reads them back, like all others, so all nodes see changes in the same order. A batch is applied as
a whole.

*After a failed read the node reads the log from its beginning*, and compares the result with the state: the partition's
new leader may have lost the end of the old leader's log, and the log itself does not show that. The whole read is done
in one leader epoch, never an older one than before, because a deposed broker may not know that it was deposed. If the
log ends before records that were read earlier, these are lost; otherwise the new state replaces the old one only when
it contains all of them.

*A write is answered when it was read back*. It is recognised by its mark, a header of its first record. Batches refused
by brokers that do not lead the partition are sent again for a while. A batch that may have been appended is not sent
again, because it might end up behind a later change of its client. If it is not read back in time, it is answered as
timed out.

All nodes skip unreadable records, and log a line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.changes import MetaChange, MetaState
from shareq.cluster.link.ports import Failure, Link, Purpose
from shareq.cluster.state.config_records import Change, OwnSecret, differences, is_kept, read, record_of
from shareq.cluster.state.slot import Fetched, Produced, Refused, Slot, StateTopic
from shareq.cluster.state.topics import WantedTopic
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, MalformedMessage, is_retriable
from shareq.protocol.primitives import uuid_to_text
from shareq.protocol.records.batch import (
    MAGIC,
    BatchHeader,
    Record,
    batch_headers,
    build_batch,
    crc_matches,
    decode_records,
)

logger = logging.getLogger(__name__)

CONFIG_TOPIC: Final = "__shareq_config"
MESSAGE_BYTES: Final = 1 << 20

MOST_STATE_BYTES: Final = 32 << 20
"""The most bytes of keys and values in the state. A record that would exceed them is not written, and ignored if it is
read.
"""
MOST_BATCH_BYTES: Final = 8 << 20
"""The most decompressed bytes of a batch. A larger one is skipped, as is one with more than MOST_RECORDS records."""
MOST_RECORDS: Final = 20_000
MOST_WAITING_BYTES: Final = 8 << 20
"""The most bytes of changes that wait to be read back."""
NOTIFIED_TOGETHER: Final = 1_000
"""The most changes in one call of a listener, when a read of the whole log has led to another state."""

WAIT_MS: Final = 5_000
"""The longest wait of a fetch at the end of the log."""
PAUSE_MS: Final = 100
"""The pause between two tries."""
WRITE_MS: Final = 15_000
"""The time in which a change has to be read back; after it, the writer gets REQUEST_TIMED_OUT."""
PATIENCE_MS: Final = 30_000
"""The time in which the log has to be read when the node starts."""
_SECRET_BYTES: Final = 32
_MARK: Final = "write"

_MOST_LINES: Final = 20
_RECORD_ELEMENTS: Final = 10  # that take as long as a record

_SENT_AGAIN: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)
"""The errors after which a batch is sent again, because the broker does not append it. One that was deposed meanwhile
may have appended it: it is then in the log twice, as if the client had sent it twice.
"""


def wanted_config_topic(replication_factor: int, min_insync_replicas: int) -> WantedTopic:
    """Return the settings that the topic should have."""
    return WantedTopic(
        CONFIG_TOPIC,
        partitions=1,
        compacted=True,
        replication_factor=replication_factor,
        min_insync_replicas=min_insync_replicas,
        max_message_bytes=MESSAGE_BYTES,
    )


class _Row(NamedTuple):
    """A change as its record has it: its key, and the bytes of key and value together, 0 for a removal."""

    key: bytes
    size: int
    change: Change


class _Image:
    """The state according to the log from its start up to the offset `at`."""

    __slots__ = ("_sizes", "at", "marks", "secret", "size", "state")

    def __init__(self, at: int) -> None:
        self.at = at
        """The offset of the next batch."""
        self.marks: set[bytes] = set()
        """The marks of pending writes whose batches the image has."""
        self.state = MetaState()
        self.secret: bytes | None = None
        self.size = 0
        self._sizes: dict[bytes, int] = {}

    def apply(self, rows: Sequence[_Row]) -> bool:
        """Apply a batch if there is room for it; return False if there is not."""
        sizes = {row.key: row.size for row in rows}
        size = self.size + sum(sizes.values()) - sum(self._sizes.get(key, 0) for key in sizes)
        if size > max(MOST_STATE_BYTES, self.size):
            return False
        self.size = size
        for key, one in sizes.items():
            if one:
                self._sizes[key] = one
            else:
                self._sizes.pop(key, None)
        for _, _, change in rows:
            if not isinstance(change, OwnSecret):
                self.state.apply(change)
            elif self.secret is None:
                self.secret = change.secret
        return True


class _Written:
    """A write that has not been answered. `is_sent`: the batch is, or may be, in the log, and is not sent again."""

    __slots__ = ("answer", "is_sent", "size")

    def __init__(self, size: int) -> None:
        self.answer: Pending[ApiError] = Pending()
        self.is_sent = False
        self.size = size


class ConfigLog:
    """`KeptByNodes`: the log, as one node reads and writes it. `begin` starts coroutines."""

    def __init__(self, env: Environment, link: Link, topic: StateTopic, begin: Begin) -> None:
        self._env: Final = env
        self._link: Final = link
        self._slot: Final = Slot(link, topic, 0)
        self._begin: Final = begin
        self._image = _Image(0)
        self._secret: bytes | None = None
        self._written: Final[dict[bytes, _Written]] = {}  # by their marks
        self._listeners: Final[list[Callable[[Sequence[MetaChange]], None]]] = []
        self._problem = "it has not been read"
        self._epoch = -1  # the newest one of leaders that was read in
        self._turn = 0
        self._is_looking = False
        self._suspected: Final[set[int]] = set()  # base offsets of batches that came damaged once
        self._is_open = False
        self._is_closed = False
        self.reads = 0
        """The number of times that the log was read from its start."""
        self.skipped = 0
        """Records and batches that were passed over."""

    # -- KeptByNodes

    @property
    def state(self) -> MetaState:
        return self._image.state

    @property
    def secret(self) -> bytes:
        """Random bytes that all nodes know. Raises RuntimeError before the log is open."""
        if self._secret is None:
            raise RuntimeError(f"{self._slot.name} is not open")
        return self._secret

    def on_change(self, listener: Callable[[Sequence[MetaChange]], None]) -> None:
        self._listeners.append(listener)

    def write(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        """Write all changes, or none. Completes when `state` shows them, or with an error: REQUEST_TIMED_OUT if the
        outcome is unknown, KAFKA_STORAGE_ERROR if the cluster refuses, POLICY_VIOLATION if there is no room.

        Raises ValueError for changes that nodes do not keep together.
        """
        if not all(map(is_kept, changes)):
            raise ValueError(f"{self._slot.name}: a change that nodes do not keep together")
        return self._write(changes)

    # -- start and stop

    async def open(self, patience_ms: int = PATIENCE_MS) -> str | None:
        """Read the log to its end and follow it from then on. Return None, or why the log could not be read."""
        clock = self._env.clock
        give_up_ms = clock.now_ms() + patience_ms
        self._begin(self._follow())
        while self._secret is None:
            if self._is_open:
                # Never the same one twice: compaction would leave the last of two, and another one be the first.
                offer = OwnSecret(uuid_to_text(self._env.random_uuid()), self._env.secret_bytes(_SECRET_BYTES))
                failure = await self._write([offer], once=True)
                self._problem = failure.message or self._problem
            if self._is_closed or (self._secret is None and clock.now_ms() >= give_up_ms):
                return f"{self._slot.name}: {self._problem}"
            if self._secret is None:
                await sleep(clock, PAUSE_MS)
        return None

    def close(self) -> None:
        """Stop reading, and complete all waiting writes with REQUEST_TIMED_OUT."""
        self._is_closed = True
        for mark in list(self._written):
            self._end(mark, ErrorCode.REQUEST_TIMED_OUT, "the node stops")

    # -- reading

    async def _follow(self) -> None:
        """Read the log from its start, and again from its start after each error, until the log is closed."""
        while not self._is_closed:
            problem = await self._read_on()
            if self._is_closed:
                return
            if problem != self._problem:
                logger.warning("%s; it is read again", problem)
            self._problem = problem
            await sleep(self._env.clock, PAUSE_MS)

    async def _read_on(self) -> str:
        """Read from the start to the end, then follow the log; return the error that ends it."""
        image = await self._read_all()
        if isinstance(image, Refused):
            return image.text
        if not self._is_closed:
            await self._take_over(image)
        while not self._is_closed:
            fetched = await self._slot.fetch(image.at, WAIT_MS, purpose=Purpose.CONFIG, epoch=self._epoch)
            problem = await self._take_in(image, fetched, self._show)
            if problem is not None:
                return problem.text
            if isinstance(fetched, Fetched) and not fetched.records:
                self._begin(self._look_for_leader())
            if isinstance(fetched, Fetched) and fetched.high_watermark < image.at:
                await sleep(self._env.clock, PAUSE_MS)  # a new leader that does not know yet how far the others are
        return f"{self._slot.name}: closed"

    async def _read_all(self) -> _Image | Refused:
        """Read the whole log up to its end, which includes all records read before unless these are lost."""
        end = await self._find_end()
        if isinstance(end, Refused):
            return end
        start = await self._slot.find_start()
        if isinstance(start, Refused):
            return start
        self.reads += 1
        image = _Image(start)
        while not self._is_closed:
            fetched = await self._slot.fetch(image.at, 0, epoch=self._epoch)
            problem = await self._take_in(image, fetched, lambda _rows: None)
            if problem is not None:
                return problem
            assert isinstance(fetched, Fetched)
            if image.at >= max(end, fetched.high_watermark):
                break
            if not fetched.records:  # a new leader learns late how far its followers are
                await sleep(self._env.clock, PAUSE_MS)
        return image

    async def _find_leader(self) -> Refused | None:
        """Ask who leads the log: any broker, and every other time each broker in turn, since a deposed leader may not
        know its successor.
        """
        nodes = sorted(self._link.brokers)
        self._turn += 1
        before = self._slot.leader, self._slot.leader_epoch
        is_any = self._turn % 2 or not nodes
        found = await self._slot.find_leader(None if is_any else nodes[self._turn // 2 % len(nodes)])
        if isinstance(found, Refused):
            return found
        if self._slot.leader_epoch < self._epoch:
            self._slot.leader, self._slot.leader_epoch = before
            return Refused(f"{self._slot.name}: broker {found} led it, and was deposed")
        return None

    async def _look_for_leader(self) -> None:
        """Look for a newer leader while a fetch waits. If there is one, the next fetch is refused, and the log is read
        again.
        """
        if not self._is_looking:
            self._is_looking = True
            try:
                await self._find_leader()
            finally:
                self._is_looking = False

    async def _find_end(self) -> int | Refused:
        """Find the leader. Return the offset that the read has to reach at least, or 0 if the leader has lost records
        read before.
        """
        refused = await self._find_leader()
        if refused is not None:
            return refused
        self._epoch = self._slot.leader_epoch
        if not self._image.at:
            return 0
        probed = await self._slot.fetch(self._image.at, 0, epoch=self._epoch)
        if isinstance(probed, Fetched):
            return self._image.at
        return 0 if probed.error is ErrorCode.OFFSET_OUT_OF_RANGE else probed

    async def _take_over(self, image: _Image) -> None:
        """Replace the state by the one just read, and notify listeners of the differences."""
        before, self._image = self._image.state, image
        self._is_open = True
        self._secret = self._secret or image.secret
        for some in pieces(list(differences(before, image.state)), NOTIFIED_TOGETHER):
            self._notify(some)
            await self._env.budget.breathe(len(some))
        self._settle()

    async def _take_in(
        self, image: _Image, fetched: Fetched | Refused, applied: Callable[[Sequence[_Row]], None]
    ) -> Refused | None:
        """Apply the fetched batches to an image, one by one. Return None, or why they could not be applied."""
        if isinstance(fetched, Refused):
            return fetched
        if not fetched.records:
            image.at = max(image.at, fetched.high_watermark)  # compaction has left nothing of what lies between
            return None
        before, view = image.at, memoryview(fetched.records)
        try:
            for at, header in batch_headers(fetched.records):
                if header.last_offset < image.at:
                    continue  # a broker may begin before the offset that it was asked for
                is_sound = header.magic == MAGIC and crc_matches(view, at, header)
                if not is_sound and header.base_offset not in self._suspected:
                    self._suspected.add(header.base_offset)
                    return Refused(f"{self._slot.name}: the batch at offset {header.base_offset} came damaged")
                mark, rows = await self._rows(header, view[at : at + header.size] if is_sound else None)
                if self._is_closed:
                    return None
                image.at = header.next_offset
                if not image.apply(rows):
                    self._skip(header.base_offset, f"{MOST_STATE_BYTES} bytes are kept at most")
                    continue
                if mark in self._written:
                    image.marks.add(mark)
                applied(rows)
        except MalformedMessage as error:
            return Refused(f"{self._slot.name}: from offset {image.at} on: {error}")
        return (
            Refused(f"{self._slot.name}: no whole batch came from offset {before} on") if image.at == before else None
        )

    async def _rows(self, header: BatchHeader, batch: memoryview | None) -> tuple[bytes, list[_Row]]:
        """Return the mark of a batch and its changes. `batch` is None if it is damaged."""
        records: Sequence[Record] = ()
        if batch is None:
            self._skip(header.base_offset, "damaged")
        elif header.is_control:
            return b"", []
        elif header.records_count > MOST_RECORDS:
            self._skip(header.base_offset, f"{header.records_count} records in a batch")
        else:
            try:
                records = decode_records(batch, MOST_BATCH_BYTES)
            except MalformedMessage as error:
                self._skip(header.base_offset, str(error))
        rows: list[_Row] = []
        for record in records:
            change = read(record.key, record.value)
            if change is None or isinstance(change, str):
                self._skip(record.offset, change or "it is of a later release")
            else:
                size = 0 if record.value is None else len(record.key or b"") + len(record.value)
                rows.append(_Row(bytes(record.key or b""), size, change))
            await self._env.budget.breathe(_RECORD_ELEMENTS)
        is_whole = len(records) == header.last_offset_delta + 1
        return _mark_of(records) if is_whole else b"", rows  # what compaction removed is shown by later batches alone

    def _skip(self, offset: int, why: str) -> None:
        self.skipped += 1
        if self.skipped <= _MOST_LINES:
            logger.warning("%s: offset %d is passed over: %s", self._slot.name, offset, why)

    # -- news

    def _show(self, rows: Sequence[_Row]) -> None:
        """Notify listeners of a batch that was applied to the state, and complete its write."""
        self._secret = self._secret or self._image.secret
        changes = [row.change for row in rows if not isinstance(row.change, OwnSecret)]
        if changes:
            self._notify(changes)
        self._settle()

    def _notify(self, changes: Sequence[MetaChange]) -> None:
        for listener in self._listeners:
            listener(changes)

    # -- writing

    def _write(self, changes: Sequence[Change], *, once: bool = False) -> Pending[ApiError]:
        """Write changes; with `once`, send the batch only once."""
        clock = self._env.clock
        mark = self._env.random_uuid()
        records = [record_of(change) for change in changes]
        records[0] = records[0]._replace(headers=((_MARK, mark),))
        batch = build_batch(records, timestamp_ms=clock.wall_ms())
        most = self._slot.topic.max_message_bytes
        if len(batch) > most:
            return completed(self._error(ErrorCode.POLICY_VIOLATION, f"{len(batch)} bytes, {most} are allowed"))
        if self._image.size + len(batch) > MOST_STATE_BYTES and any(each.value is not None for each in records):
            return completed(self._error(ErrorCode.POLICY_VIOLATION, f"{MOST_STATE_BYTES} bytes are kept at most"))
        if self._is_closed or sum(each.size for each in self._written.values()) + len(batch) > MOST_WAITING_BYTES:
            return completed(self._error(ErrorCode.REQUEST_TIMED_OUT, "too many changes are on their way"))
        written = self._written[mark] = _Written(len(batch))
        timer = clock.call_at(
            clock.now_ms() + WRITE_MS,
            lambda: self._end(mark, ErrorCode.REQUEST_TIMED_OUT, f"not read back in {WRITE_MS} ms"),
        )
        written.answer.on_complete(lambda _outcome: timer.cancel())
        self._begin(self._send(mark, written, batch, once=once))
        return written.answer

    async def _send(self, mark: bytes, written: _Written, batch: bytearray, *, once: bool) -> None:
        """Send a batch until it is in the log, or may be."""
        times = 0
        while not written.answer.done:
            times += 1
            answer = await self._slot.produce(batch, WRITE_MS)
            if isinstance(answer, Produced):
                written.is_sent = True
                break
            if (answer.error in _SENT_AGAIN or answer.failure is Failure.NOT_SENT) and not once:
                await sleep(self._env.clock, PAUSE_MS)
                await self._find_leader()
            elif answer.is_large:
                self._end(mark, ErrorCode.POLICY_VIOLATION, answer.text)
            elif answer.error is not None and not is_retriable(answer.error):
                self._end(mark, ErrorCode.KAFKA_STORAGE_ERROR, answer.text)
            elif times > 1 or once:  # it may be there already, and come once more
                self._end(mark, ErrorCode.REQUEST_TIMED_OUT, answer.text)
            else:
                logger.warning("%s: whether a change was appended is not known", answer.text)
                written.is_sent = True
                break
        self._settle()

    def _settle(self) -> None:
        """Complete the writes that were read back."""
        for mark in [each for each in self._image.marks if each in self._written and self._written[each].is_sent]:
            self._end(mark, ErrorCode.NONE)

    def _end(self, mark: bytes, error: ErrorCode, why: str = "") -> None:
        written = self._written.pop(mark, None)
        self._image.marks.discard(mark)
        if written is not None:
            written.answer.complete(self._error(error, why) if error else NO_ERROR)

    def _error(self, error: ErrorCode, why: str) -> ApiError:
        return ApiError(error, f"{self._slot.name}: {why}")


def _mark_of(records: Sequence[Record]) -> bytes:
    """Return the mark of a batch; empty for one that another program has written."""
    return next((bytes(value or b"") for key, value in records[0].headers if key == _MARK), b"") if records else b""
