"""A short model of a share partition and of a Spark query, to drive `QueryBooks` through all possible events.

It shares no code with the product: a broker that locks offset by offset, and Spark's order of calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.spark.offsets import INITIAL, SharePartition, SourceOffset
from shareq.spark.query.books import Acquired, QueryBooks, Result
from shareq.spark.query.progress import Counters

TOPIC_ID = bytes(range(16))
KEY = SharePartition("flights", TOPIC_ID, 0)
LOCK_MS = 1_000
WINDOW = 30


@dataclass(slots=True)
class Record:
    owner: int | None = None
    locked_until: float = 0
    delivered: int = 0
    finished: bool = False


@dataclass(slots=True)
class ModelBroker:
    """One share partition. Sessions are numbers; a closed session holds no locks."""

    records: list[Record] = field(default_factory=list)

    @property
    def start_offset(self) -> int:
        return next((offset for offset, record in enumerate(self.records) if not record.finished), len(self.records))

    def acquire(self, session: int, most: int, now_ms: float) -> list[Acquired]:
        rows: list[Acquired] = []
        low = self.start_offset
        for offset, record in enumerate(self.records[low : low + WINDOW], low):
            if most == 0:
                break
            if record.finished or self._locked(record, now_ms):
                continue
            most -= 1
            record.owner, record.locked_until = session, now_ms + LOCK_MS
            record.delivered += 1
            if rows and rows[-1][4] == offset - 1 and rows[-1][5] == record.delivered:
                rows[-1] = (*rows[-1][:4], offset, record.delivered)
            else:
                rows.append((KEY.topic, TOPIC_ID, 0, offset, offset, record.delivered))
        return rows

    def acknowledge(self, session: int, ack: AckRange, kind: str, now_ms: float) -> ErrorCode:
        touched = self.records[ack.first : ack.last + 1]
        if any(record.owner != session or not self._locked(record, now_ms) for record in touched):
            return ErrorCode.INVALID_RECORD_STATE
        for record in touched:
            if kind == "renew":
                record.locked_until = now_ms + LOCK_MS
            else:
                record.owner = None
                record.finished = kind in ("accept", "reject")
        return ErrorCode.NONE

    def close(self, session: int) -> None:
        for record in self.records:
            if record.owner == session:
                record.owner = None

    @staticmethod
    def _locked(record: Record, now_ms: float) -> bool:
        return not record.finished and record.owner is not None and record.locked_until > now_ms


AckFate = Literal["answered", "refused", "lost before", "lost after"]
"""The fate of a request of acknowledgements.

It is answered; it cannot be written to the log, and locks stay; or the connection breaks before or after the broker
took it.
"""


class Query:
    """One checkpoint with its query, over any number of runs, with checks of the contract.

    Every ACCEPT that the broker takes is checked: its record must be in a committed micro-batch (`ack=commit`), or in
    the offset log (`ack=log`). A micro-batch that runs again must have the same records.
    """

    def __init__(self, ack: str, max_renew_ms: int = 10 * LOCK_MS) -> None:
        self.ack = ack
        self.max_renew_ms = max_renew_ms
        self.broker = ModelBroker()
        self.now_ms = 0.0
        self.session = 0
        self.offset_log: list[str] = []
        self.commits = 0
        self.sink: dict[int, frozenset[int]] = {}
        self.restart()

    # -- runs of the query

    def restart(self) -> None:
        """Kill the query and start it again: locks are lost, and only the two logs and the sink remain."""
        self.lose_connection()
        self.counters = Counters()
        self.books = QueryBooks(max_renew_ms=self.max_renew_ms, max_delivery_count=None, counters=self.counters)
        if self.commits < len(self.offset_log):
            self.run_batch()

    def lose_connection(self) -> None:
        self.broker.close(self.session)
        self.session += 2  # odd numbers are the other member

    def step(self, most: int, fates: Sequence[AckFate], stop_at: int) -> None:
        """Run latestOffset, offset log, partitions, sink and commit log; restart after step `stop_at`."""
        of_begin, of_swallowed, of_logged = fates
        end = self.latest_offset(most, of_begin, of_swallowed)
        if stop_at == 1:
            self.restart()
            return
        if end is None:
            return
        self.offset_log.append(end)
        if stop_at == 2:
            self.restart()
            return
        if self.ack == "log":
            acks = self.books.log_written(self._offset(end))
            self.books.acknowledged(self._send(acks, "accept", of_logged))
        if stop_at == 3:
            self.restart()
            return
        self.run_batch(commit=stop_at != 4)
        if stop_at in (4, 5):
            self.restart()

    def latest_offset(self, most: int, of_begin: AckFate, of_swallowed: AckFate) -> str | None:
        start = self._offset(self.offset_log[-1]) if self.offset_log else INITIAL
        books = self.books
        books.sessions(self._session_of)
        books.expire(self.now_ms)
        books.acknowledged(self._send(books.begin(start), "accept", of_begin))
        books.sessions(self._session_of)
        books.below_start_offsets({KEY: self.broker.start_offset})
        found = self.broker.acquire(self.session, most, self.now_ms)
        verdicts = books.acquired(found, session_of=self._session_of, now_ms=self.now_ms, lock_ms=LOCK_MS)
        books.acknowledged(self._send(verdicts.accept, "accept", of_swallowed))
        books.sessions(self._session_of)
        end = books.next_offset(start)
        return None if end is None else json.dumps(end.to_json())

    def run_batch(self, *, commit: bool = True) -> None:
        batch_id = len(self.offset_log) - 1
        end = self._offset(self.offset_log[-1])
        rows = [
            offset for ranges in end.batch.values() for first, last, _ in ranges for offset in range(first, last + 1)
        ]
        assert len(rows) == len(set(rows)), "a record twice in one micro-batch"
        assert self.sink.setdefault(batch_id, frozenset(rows)) == set(rows), "a replayed micro-batch differs"
        for other, earlier in self.sink.items():
            assert other == batch_id or not earlier & set(rows), "a record in two micro-batches"
        if commit:
            self.commits = len(self.offset_log)

    def renew(self, fate: AckFate) -> None:
        due = self.books.to_renew(self.now_ms)
        self.books.renewed(self._send(due, "renew", fate), now_ms=self.now_ms)

    # -- the contract

    def check(self) -> None:
        self.books.sessions(self._session_of)
        self.books.expire(self.now_ms)
        held = {
            offset
            for offset, record in enumerate(self.broker.records)
            if record.owner == self.session and not record.finished
        }
        assert self.books.held <= len(held), "a lock in the books that the broker does not know"

    def in_sink(self) -> set[int]:
        return {offset for rows in self.sink.values() for offset in rows}

    def _send(self, acks: list[AckRange], kind: str, fate: AckFate) -> list[Result]:
        session = self.session
        if fate == "refused":
            return [(ack, ErrorCode.COORDINATOR_NOT_AVAILABLE) for ack in acks]
        if acks and fate != "answered":
            if fate == "lost after":
                for ack in acks:
                    self._take(session, ack, kind)
            self.lose_connection()
            return [(ack, ErrorCode.NETWORK_EXCEPTION) for ack in acks]
        return [(ack, self._take(session, ack, kind)) for ack in acks]

    def _take(self, session: int, ack: AckRange, kind: str) -> ErrorCode:
        code = self.broker.acknowledge(session, ack, kind, self.now_ms)
        if kind == "accept" and code == ErrorCode.NONE:
            promised = self._promised()
            missing = [offset for offset in range(ack.first, ack.last + 1) if offset not in promised]
            assert not missing, f"accepted, and not safe: {missing}"
        return code

    def _promised(self) -> set[int]:
        logged = self.offset_log if self.ack == "log" else self.offset_log[: self.commits]
        return {
            offset
            for text in logged
            for ranges in self._offset(text).batch.values()
            for first, last, _ in ranges
            for offset in range(first, last + 1)
        }

    def _session_of(self, topic_id: bytes, partition: int) -> int:
        return self.session

    @staticmethod
    def _offset(text: str) -> SourceOffset:
        return SourceOffset.from_json(json.loads(text))
