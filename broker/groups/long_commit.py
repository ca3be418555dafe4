"""An OffsetCommit of many partitions, in turns of the loop.

Its topics are looked at, and its records made and encoded, some at a time; then the group decides, and all records are
appended and replayed in one turn, as those of a short commit are: either all of them count, or none. The rows of the
answer are put together in turns again. The rules are those of `GroupOffsetsService.commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.coordinator.group.offsets.commit import refused
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponseTopic,
)

__all__ = ["TURN_PARTITIONS", "LongCommit", "count"]

TURN_PARTITIONS: Final = 500
"""So many are looked at in one turn, or made into records, 15 µs each; a topic counts as one more."""

TURN_ROWS: Final = 5_000
"""So many rows of the answer are put together in one turn."""

Topics = list[OffsetCommitRequestTopic]
Rows = list[OffsetCommitResponseTopic]


def count(request: OffsetCommitRequest) -> int:
    """How many topics and partitions are named."""
    return len(request.topics) + sum(len(topic.partitions) for topic in request.topics)


class LongCommit:
    """One request. `ask` has the group asked (its argument does) where the client may make it if there is none.

    `hidden` is the error of topics that `may_read` says no to.
    """

    def __init__(
        self,
        offsets: GroupOffsetsService,
        wall_ms: Callable[[], int],
        may_read: Callable[[OffsetCommitRequestTopic], bool],
        hidden: ErrorCode,
        ask: Callable[[Callable[[], Pending[ErrorCode]]], Pending[ErrorCode]],
    ) -> None:
        self._offsets = offsets
        self._wall_ms = wall_ms
        self._may_read = may_read
        self._hidden_error = hidden
        self._ask = ask
        self._hidden: Rows = []
        self._unknown: Rows = []
        self._existing: list[Topics] = []

    def run(
        self, request: OffsetCommitRequest, version: int, turns: Turns, failed: Callable[[Exception], None]
    ) -> Pending[OffsetCommitResponse]:
        """Begin; the answer comes when what was committed is durable. `failed` is called with what a turn raises."""
        answer: Pending[OffsetCommitResponse] = Pending()

        def work() -> Iterator[None]:
            for part in _parts(request.topics):
                self._sort(part, version)
                yield
            prepared = None
            if self._existing:
                prepared = yield from self._offsets.prepare(request.group_id)
                if prepared is not None:
                    for part in self._existing:
                        prepared.add(_with_topics(request, part), self._wall_ms())
                        yield
            header = _with_topics(request, [])
            if not self._existing:
                turns.run(self._rows([], answer), failed)
            elif prepared is None:
                turns.run(self._refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, answer), failed)
            else:
                accepted = prepared.topics
                self._ask(lambda: self._offsets.commit_prepared(header, version, prepared)).on_complete(
                    lambda error: turns.run(
                        self._refused(error, answer) if error else self._rows(accepted, answer), failed
                    )
                )

        turns.run(work(), failed)
        return answer

    def _sort(self, part: Topics, version: int) -> None:
        existing: Topics = []
        for topic in part:
            if self._may_read(topic):
                self._offsets.sort_commit(topic, version, existing, self._unknown)
            else:
                self._hidden += refused(OffsetCommitRequest(topics=[topic]), self._hidden_error).topics
        if existing:
            self._existing.append(existing)

    def _refused(self, error: ErrorCode, answer: Pending[OffsetCommitResponse]) -> Iterator[None]:
        rows: Rows = []
        for part in self._existing:
            rows += refused(OffsetCommitRequest(topics=part), error).topics
            yield
        yield from self._rows(rows, answer)

    def _rows(self, rows: Rows, answer: Pending[OffsetCommitResponse]) -> Iterator[None]:
        """Answer: first what the client may not see, then what does not exist."""
        hidden = yield from _merged(self._hidden, everywhere=False)
        others = yield from _merged([*self._unknown, *rows], everywhere=bool(self._unknown))
        answer.complete(OffsetCommitResponse(topics=[*hidden, *others]))


def _with_topics(request: OffsetCommitRequest, topics: Topics) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        request.retention_time_ms,
        topics,
    )


def _parts(topics: Sequence[OffsetCommitRequestTopic]) -> Iterator[Topics]:
    """The topics, so many partitions at a time; a topic may be in several parts."""
    part: Topics = []
    room = TURN_PARTITIONS
    for topic in topics:
        at = 0
        while at < len(topic.partitions) or not at:
            some = topic.partitions[at : at + max(room, 1)]
            part.append(OffsetCommitRequestTopic(topic.name, topic.topic_id, some))
            at += max(len(some), 1)
            room -= 1 + len(some)
            if room <= 0:
                yield part
                part, room = [], TURN_PARTITIONS
    if part:
        yield part


def _merged(rows: Rows, *, everywhere: bool) -> Generator[None, None, Rows]:
    """Parts of one topic that follow each other as one entry, or all of one topic, wherever they are."""
    merged: Rows = []
    known: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
    for at, topic in enumerate(rows, 1):
        name = topic.name, topic.topic_id
        before = known.get(name)
        if before is None:
            if not everywhere:
                known.clear()
            known[name] = topic
            merged.append(topic)
        else:
            before.partitions += topic.partitions
        if at % TURN_ROWS == 0:
            yield
    return merged
