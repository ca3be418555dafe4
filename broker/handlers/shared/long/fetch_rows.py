"""Reading many partitions for one Fetch, so many in a turn of the loop, and the rows of its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, emptied, pieces
from shareq.broker.fetch.read import FetchRead
from shareq.broker.fetch.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchContext,
    PartitionKey,
    SessionPartition,
)
from shareq.broker.fetch.wait import FetchLimits
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.security.rights import READ_TOPIC
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

T = TypeVar("T")

TURN_PARTITIONS: Final = 500
"""So many are looked at in one turn, 10 µs each beside what is read."""

IDS_FROM: Final = 13

_FREED: Final = 4_000  # results that are given back in one turn

Refusal = Callable[[SessionPartition], ErrorCode]


def read_in_turns(
    ctx: RequestContext, partitions: list[SessionPartition], limits: FetchLimits, refuse: Refusal | None
) -> Steps[FetchRead]:
    """One pass over many partitions. Nothing is read for a client that has gone."""
    lookup, budget = ctx.services.lookup, ctx.services.answer_budget
    some = pieces(partitions, TURN_PARTITIONS)
    read = FetchRead(lookup, budget, next(some), limits, refuse)
    for each in some:
        yield
        if not ctx.connection.closed:
            read.go_on(lookup, budget, each, limits, refuse)
    return read


def refusal(ctx: RequestContext) -> Refusal | None:
    """The check whether the client may read a partition; None where every client may."""
    if ctx.services.authorizer is None:
        return None
    metadata = ctx.services.metadata

    def refuse(partition: SessionPartition) -> ErrorCode:
        topic = partition.topic
        if isinstance(topic, bytes):
            image = metadata.topic_by_id(topic)
            if image is None:
                return ErrorCode.NONE  # an id gives no name away: that it is unknown is found out later
            topic = image.name
        return ErrorCode.NONE if ctx.may(READ_TOPIC, topic) else READ_TOPIC.error

    return refuse


def is_long(request: FetchRequest) -> bool:
    """Whether more partitions are named than are opened in one turn."""
    count = len(request.forgotten_topics_data)
    for topic in request.topics:
        count += 1 + len(topic.partitions)
    for forgotten in request.forgotten_topics_data:
        count += len(forgotten.partitions)
    return count > 2 * TURN_PARTITIONS


def requested_of(
    topic: FetchTopic, partitions: Iterable[FetchPartition], by_id: bool, found: dict[PartitionKey, SessionPartition]
) -> None:
    """Add partitions of a topic as a session has them; of one that is named twice the last counts."""
    key = topic.topic_id if by_id else topic.topic
    for part in partitions:
        found[key, part.partition] = SessionPartition(
            key,
            part.partition,
            part.fetch_offset,
            part.partition_max_bytes,
            part.current_leader_epoch,
            part.last_fetched_epoch,
        )


def forgotten_of(topic: ForgottenTopic, by_id: bool) -> list[PartitionKey]:
    """The partitions of a topic that are not fetched any more."""
    key = topic.topic_id if by_id else topic.topic
    return [(key, partition) for partition in topic.partitions]


def open_in_turns(ctx: RequestContext, request: FetchRequest) -> Steps[FetchContext | ErrorCode]:
    """As `FetchSessions.open`. A session that there is is changed some partitions at a time."""
    sessions, by_id = ctx.services.fetch_sessions, ctx.api_version >= IDS_FROM
    turn = TurnCount(TURN_PARTITIONS)
    requested: dict[PartitionKey, SessionPartition] = {}
    for topic in request.topics:
        for some in pieces(topic.partitions, TURN_PARTITIONS):
            requested_of(topic, some, by_id, requested)
            if turn.full(len(some)):
                yield
        if turn.full():
            yield
    forgotten: list[PartitionKey] = []
    if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        session = sessions.find(request.session_id, request.session_epoch, uses_topic_ids=by_id)
        if isinstance(session, ErrorCode):
            return session
        for each in pieces(list(requested.values()), TURN_PARTITIONS):
            session.update(each)
            yield
        for gone in request.forgotten_topics_data:
            for numbers in pieces(gone.partitions, TURN_PARTITIONS):
                session.forget(forgotten_of(ForgottenTopic(gone.topic, gone.topic_id, list(numbers)), by_id))
                if turn.full(len(numbers)):
                    yield
            if turn.full():
                yield
        yield from emptied(requested)
    return sessions.open(
        request.session_id,
        request.session_epoch,
        uses_topic_ids=by_id,
        requested=requested,
        forgotten=forgotten,
        now_ms=ctx.services.env.clock.now_ms(),
    )


def answer_in_turns(
    ctx: RequestContext, context: FetchContext, partitions: list[SessionPartition], read: FetchRead, throttle_ms: int
) -> Steps[Pending[FetchResponse]]:
    """As `FetchContext.answer`, and its rows; what was read for it is given back."""
    topics: list[FetchableTopicResponse] = []
    error, session_id = context.throttled()
    if not error:
        for some in pieces(read.results, TURN_PARTITIONS):
            add_by_topic(topics, context.noted(some))
            yield
        session_id = context.session_id(ctx.services.env.clock.now_ms())
    yield from given_back(read.results)
    yield from given_back(partitions)
    if session_id == NO_SESSION:
        yield from emptied(context.given_up())
    return completed(FetchResponse(throttle_ms, error, session_id, topics))


def as_pending(answer: FetchResponse | Pending[FetchResponse]) -> Pending[FetchResponse]:
    """The answer as one that may come later."""
    return answer if isinstance(answer, Pending) else completed(answer)


def given_back(held: list[T]) -> Iterator[None]:
    """Empty a list, some in a turn."""
    while held:
        del held[-_FREED:]
        yield


def add_by_topic(
    topics: list[FetchableTopicResponse], partitions: Iterable[tuple[SessionPartition, PartitionData]]
) -> None:
    """Add rows to an answer, neighbours of one topic together; the order stays, since it is the order of reading."""
    last: str | bytes | None = None
    if topics:
        last = topics[-1].topic or topics[-1].topic_id
    for partition, data in partitions:
        key = partition.topic
        if key != last:
            last = key
            topics.append(
                FetchableTopicResponse(topic_id=key) if isinstance(key, bytes) else FetchableTopicResponse(topic=key)
            )
        topics[-1].partitions.append(data)
