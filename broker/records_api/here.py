"""Answers about share groups from this process alone: all there is at a broker; at a node, its part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shareq.broker.records_api import views
from shareq.broker.records_api.limits import MOST_NAMES, NAMES, PARTITIONS
from shareq.broker.records_api.query import (
    ROOT,
    Refused,
    bad,
    not_found,
    number,
    parameters_of,
    records_query,
    segments_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shareq.broker.services import Services

_HIGHEST_PARTITION: Final = 2**31 - 1


async def answer_here(
    services: Services, times: views.TimeOfDay, segments: Sequence[str], query: str, *, is_part: bool = False
) -> bytes:
    """Return the answer to a question about share groups. `is_part`: it is a part of an answer over all nodes, so it
    also has share partitions of groups that another node coordinates. Raises Refused.
    """
    match segments:
        case ["share-groups"]:
            given = parameters_of(query, ("after", "limit"))
            limit = number(given, "limit", NAMES, 1, MOST_NAMES)
            return await views.share_groups(services, times, given.get("after", ""), limit, is_part=is_part)
        case ["share-groups", group]:
            parameters_of(query, ())
            return await views.share_group(services, group)
        case ["share-groups", group, "partitions"]:
            given = parameters_of(query, ("after", "limit"))
            limit, after = number(given, "limit", PARTITIONS, 1, MOST_NAMES), behind(given.get("after", ""))
            return await views.partitions(services, times, group, after, limit, is_part=is_part)
        case ["share-groups", group, "topics", topic, "partitions", text, "records"]:
            number_of = number({"partition": text}, "partition", 0, 0, _HIGHEST_PARTITION)
            return await views.records(services, times, group, topic, number_of, records_query(query))
    raise not_found(f"there is nothing at this path: see {ROOT}/share-groups and docs/records-api.md")


async def reply_to(services: Services, question: str) -> tuple[int, str]:
    """Return the HTTP status, and the body or why there is none, for another node that asks for this one's part."""
    path, _, query = question.partition("?")
    try:
        times = views.TimeOfDay(services.env.clock)
        found = await answer_here(services, times, segments_of(path), query, is_part=True)
    except Refused as refused:
        return int(refused.status.partition(" ")[0]), str(refused)
    return 200, found.decode()


def behind(text: str) -> str:
    """Return the `after` of share partitions. Raises Refused if it is not TOPIC:PARTITION."""
    topic, colon, partition = text.rpartition(":")
    if text and not (topic and colon and partition.isascii() and partition.isdecimal() and len(partition) < 11):
        raise bad(f"after={text[:40]}: must be TOPIC:PARTITION")
    return text
