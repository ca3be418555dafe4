"""The groups of a DescribeShareGroupOffsets request, so many share partitions in a turn of the loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import Steps, TurnCount, in_turns, pending_in_turns, pieces
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.groups.administration import ShareOffset
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from shareq.protocol.primitives import ZERO_UUID

TURN_PARTITIONS: Final = 500
"""Share partitions that are looked up in one turn, 8 µs each; a topic counts as one more, a group as three."""
_TOPIC: Final = 1
_GROUP: Final = 3
_NAMED: Final = 10_000  # numbers that are sorted out in one turn
_JOINED: Final = 5_000  # topics, and lists of rows, that are put together in one turn

Named = Mapping[str, Sequence[int]]
Rows = list[DescribeShareGroupOffsetsResponseTopic]


def described(
    ctx: RequestContext, groups: Sequence[DescribeShareGroupOffsetsRequestGroup]
) -> Steps[Pending[list[list[DescribeShareGroupOffsetsResponseGroup]]]]:
    """Ask for every group; the answers come as lists, one of each turn's groups."""
    turn = TurnCount(TURN_PARTITIONS)
    answers: list[Pending[list[DescribeShareGroupOffsetsResponseGroup]]] = []
    some: list[Pending[DescribeShareGroupOffsetsResponseGroup]] = []
    for group in groups:
        some.append((yield from _describe(ctx, group, turn)))
        if turn.full(_GROUP):
            answers.append(gather(some))
            some = []
            yield
    answers.append(gather(some))
    return gather(answers)


def refused(group_id: str, error: ErrorCode) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(group_id, [], error, text_of(error))


def _describe(
    ctx: RequestContext, group: DescribeShareGroupOffsetsRequestGroup, turn: TurnCount
) -> Steps[Pending[DescribeShareGroupOffsetsResponseGroup]]:
    if not ctx.may(DESCRIBE_GROUP, group.group_id):
        return completed(DescribeShareGroupOffsetsResponseGroup(group.group_id, [], DESCRIBE_GROUP.error))
    if group.topics is None:
        topics = ctx.services.groups.administration.topics_with_offsets(group.group_id)
        return topics.chain(lambda topics: _describe_all(ctx, group.group_id, topics))
    numbers = TurnCount(_NAMED)
    named: dict[str, dict[int, None]] = {}  # in order, each partition once
    for topic in group.topics:
        once = named.setdefault(topic.topic_name, {})
        for piece in pieces(topic.partitions, _NAMED):
            once.update(dict.fromkeys(piece))
            if numbers.full(len(piece)):
                yield
        if numbers.full(_NAMED // TURN_PARTITIONS):
            yield
    seen: dict[str, Sequence[int]] = {}
    hidden: Rows = []
    for name, partitions in named.items():
        numbered = list(partitions)
        if not ctx.may(DESCRIBE_TOPIC, name):
            hidden.append((yield from _hidden(name, numbered, turn)))
        else:
            seen[name] = numbered
        if turn.full(_TOPIC):
            yield

    def respond(described: DescribeShareGroupOffsetsResponseGroup) -> DescribeShareGroupOffsetsResponseGroup:
        described.topics += hidden
        return described

    return (yield from _describe_topics(ctx, group.group_id, seen, turn)).then(respond)


def _describe_all(
    ctx: RequestContext, group_id: str, topics: Named | ErrorCode
) -> Pending[DescribeShareGroupOffsetsResponseGroup]:
    if isinstance(topics, ErrorCode):
        return completed(refused(group_id, topics))
    hidden = ctx.lacking(DESCRIBE_TOPIC, topics)
    seen = {name: topics[name] for name in topics if name not in hidden} if hidden else topics
    return pending_in_turns(ctx, _describe_topics(ctx, group_id, seen, TurnCount(TURN_PARTITIONS)))


def _hidden(name: str, partitions: Sequence[int], turn: TurnCount) -> Steps[DescribeShareGroupOffsetsResponseTopic]:
    unseen = ShareOffset(error=DESCRIBE_TOPIC.error)
    rows: list[DescribeShareGroupOffsetsResponsePartition] = []
    for piece in pieces(partitions, TURN_PARTITIONS):
        rows += [_partition(index, unseen) for index in piece]
        if turn.full(len(piece)):
            yield
    return DescribeShareGroupOffsetsResponseTopic(name, ZERO_UUID, rows)


def _describe_topics(
    ctx: RequestContext, group_id: str, topics: Named, turn: TurnCount
) -> Steps[Pending[DescribeShareGroupOffsetsResponseGroup]]:
    offsets: list[Pending[list[DescribeShareGroupOffsetsResponsePartition]]] = []
    by_topic: list[tuple[str, int]] = []
    for name, partitions in topics.items():
        before = len(offsets)
        for piece in pieces(partitions, TURN_PARTITIONS):
            offsets.append(_rows(ctx, group_id, name, piece))
            if turn.full(len(piece)):
                yield
        by_topic.append((name, len(offsets) - before))
        if turn.full(_TOPIC):
            yield

    def respond(
        found: list[list[DescribeShareGroupOffsetsResponsePartition]],
    ) -> Pending[DescribeShareGroupOffsetsResponseGroup]:
        group = in_turns(ctx, _group(ctx, group_id, by_topic, iter(found)))
        return group if isinstance(group, Pending) else completed(group)

    return gather(offsets).chain(respond)


def _rows(
    ctx: RequestContext, group_id: str, name: str, partitions: Sequence[int]
) -> Pending[list[DescribeShareGroupOffsetsResponsePartition]]:
    administration = ctx.services.groups.administration
    return administration.describe_offsets(group_id, name, partitions).then(
        lambda offsets: [_partition(*each) for each in zip(partitions, offsets, strict=True)]
    )


def _group(
    ctx: RequestContext,
    group_id: str,
    topics: Sequence[tuple[str, int]],
    found: Iterator[list[DescribeShareGroupOffsetsResponsePartition]],
) -> Steps[DescribeShareGroupOffsetsResponseGroup]:
    """Put the rows together. `topics`: with the number of lists that each one has in `found`."""
    rows: Rows = []
    turn = TurnCount(_JOINED)
    for name, count in topics:
        image = ctx.services.metadata.topic(name)
        topic_id = ZERO_UUID if image is None else image.topic_id
        rows.append(DescribeShareGroupOffsetsResponseTopic(name, topic_id, []))
        for some in islice(found, count):
            rows[-1].partitions += some
            if turn.full(_TOPIC):
                yield
        if turn.full(_TOPIC):
            yield
    return DescribeShareGroupOffsetsResponseGroup(group_id, rows)


def _partition(partition: int, offset: ShareOffset) -> DescribeShareGroupOffsetsResponsePartition:
    message = text_of(offset.error) if offset.error else None
    return DescribeShareGroupOffsetsResponsePartition(
        partition, offset.start_offset, offset.leader_epoch, offset.lag, offset.error, message
    )
