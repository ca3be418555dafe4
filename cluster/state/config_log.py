"""`__shareq_config`: the nodes' common configuration: properties of groups, users, rights and quotas.

write ---> Produce, acks=all ---> the log ---> read by every node, in its order ---> the state, and news of it

A topic of one partition that is compacted; any node writes, a row's last record counts. A node's own changes are
applied when they are read back, like all others: so no two nodes see them in different orders. A batch is applied as a
whole.

*After a failed read the node reads the log from its beginning*, and compares the result with the state: the partition's
new leader may have lost the end of the old leader's log, which nothing in a log shows. The whole read is in one leader
epoch, never an older one than before, because a deposed broker may not know that it is. If the log ends before records
that were read already, those are lost; otherwise the state is not shown until it contains all of them.

*A write is answered when it was read back*, recognised by a mark, a header of its first record. Batches refused by
brokers that do not lead the partition are sent again for a while. A batch that may have been appended is not sent
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
"""Keys and values that are kept. A record that would make it more is passed over, and not written."""
MOST_BATCH_BYTES: Final = 8 << 20
"""A batch with more, once it is decompressed, is passed over, as is one with more records than the next number."""
MOST_RECORDS: Final = 20_000
MOST_WAITING_BYTES: Final = 8 << 20
"""Bytes of changes that are on their way to the log."""
NOTIFIED_TOGETHER: Final = 1_000
"""Changes that one call names, where a read came to another state."""

WAIT_MS: Final = 5_000
"""The time that a fetch waits at the end of the log."""
PAUSE_MS: Final = 100
"""Between two tries."""
WRITE_MS: Final = 15_000
"""The time in which a change is read back, or its writer is not answered with success."""
PATIENCE_MS: Final = 30_000
"""The time in which the log is to be read at a start."""
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
"""Errors after which a broker appends nothing any more. One that was deposed meanwhile may have: then it is there
twice, as if its client had sent it twice.
"""


def wanted_config_topic(replication_factor: int, min_insync_replicas: int) -> WantedTopic:
    """Return the topic as it should be."""
    return WantedTopic(
        CONFIG_TOPIC,
        partitions=1,
        compacted=True,
        replication_factor=replication_factor,
        min_insync_replicas=min_insync_replicas,
        max_message_bytes=MESSAGE_BYTES,
    )


class _Row(NamedTuple):
    """A change as in its record: its key, and the size of both key and value, 0 for a removed one."""

    key: bytes
    size: int
    change: Change


class _Image:
    """The state of the log, read from its start up to some place."""

    __slots__ = ("_sizes", "at", "marks", "secret", "size", "state")

    def __init__(self, at: int) -> None:
        self.at = at
        """The offset of the next batch."""
        self.marks: set[bytes] = set()
        """Those of the writes under way that are in it."""
        self.state = MetaState()
        self.secret: bytes | None = None
        self.size = 0
        self._sizes: dict[bytes, int] = {}

    def apply(self, rows: Sequence[_Row]) -> bool:
        """Apply a batch, if there is room for it."""
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
    """A write that has not been answered. `is_sent`: it will not be sent again."""

    __slots__ = ("answer", "is_sent", "size")

    def __init__(self, size: int) -> None:
        self.answer: Pending[ApiError] = Pending()
        self.is_sent = False
        self.size = size


class ConfigLog:
    """The log, as one node reads and writes it: `KeptByNodes`. `begin` drives what it does by itself."""

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
        """Random bytes that all nodes know. RuntimeError before the log is open."""
        if self._secret is None:
            raise RuntimeError(f"{self._slot.name} is not open")
        return self._secret

    def on_change(self, listener: Callable[[Sequence[MetaChange]], None]) -> None:
        """Call back with changes of any node, when `state` shows them."""
        self._listeners.append(listener)

    def write(self, changes: Sequence[MetaChange]) -> Pending[ApiError]:
        """Have all changes kept, or none. Arrives when `state` shows them. REQUEST_TIMED_OUT: the outcome is unknown;
        KAFKA_STORAGE_ERROR: the cluster refuses; POLICY_VIOLATION: there is no room. ValueError for changes that are no
        part of the nodes' common configuration.
        """
        if not all(map(is_kept, changes)):
            raise ValueError(f"{self._slot.name}: a change that nodes do not keep together")
        return self._write(changes)

    # -- start and stop

    async def open(self, patience_ms: int = PATIENCE_MS) -> str | None:
        """Read the log to its end, and follow it from now on; return why it could not be read."""
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
        """Read no more, and answer all that wait."""
        self._is_closed = True
        for mark in list(self._written):
            self._end(mark, ErrorCode.REQUEST_TIMED_OUT, "the node stops")

    # -- reading

    async def _follow(self) -> None:
        """Read from the start and go on, again and again, until the log is closed."""
        while not self._is_closed:
            problem = await self._read_on()
            if self._is_closed:
                return
            if problem != self._problem:
                logger.warning("%s; it is read again", problem)
            self._problem = problem
            await sleep(self._env.clock, PAUSE_MS)

    async def _read_on(self) -> str:
        """Read from the start to the end, and continue there; return the error that stops it."""
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
        """Read the current log, including all records read before, unless those are lost."""
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
        """Ask who leads the log, every other time each broker in its turn: one that was deposed may not know it."""
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
        """Look for a newer leader beside a fetch that waits; the next one is refused where there is one."""
        if not self._is_looking:
            self._is_looking = True
            try:
                await self._find_leader()
            finally:
                self._is_looking = False

    async def _find_end(self) -> int | Refused:
        """Find the leader, and return the least end of the log: 0 if it has lost the end of the records read."""
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
        """Replace the known state by the one read."""
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
        """Apply what was fetched to an image, batch by batch; return why it could not be."""
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
        """Return the mark of a batch, and its changes; None if it is damaged."""
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
        """Notify of a batch that was applied to the state, and answer its writer."""
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
        """Store changes; `once`: send them once."""
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
        """Answer what was read back."""
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
    """Return the mark of a batch; empty for one written by another program."""
    return next((bytes(value or b"") for key, value in records[0].headers if key == _MARK), b"") if records else b""
