"""Places in logs as a user writes them: `earliest`, `latest`, an offset, or a time; and names of partitions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Final

import click

from shareq.client.admin.calls import NotFound, Partition
from shareq.client.admin.places import FORMS, Place, offsets_of, parse_duration, parse_moment, parse_place
from shareq.client.admin.topics import TopicInfo
from shareq.client.errors import ClientError
from shareq.ops.cli.shared.command import Session, now_ms
from shareq.ops.cli.shared.exits import wrong
from shareq.protocol.errors import ErrorCode

__all__ = [
    "FORMS",
    "Place",
    "duration",
    "from_option",
    "iso",
    "moment",
    "offsets_of",
    "partitions_of",
    "place",
    "topics_and_partitions",
]

_LAST_MS: Final = 253_402_300_799_999  # in the year 9999: Python has no later times


def place(option: str, text: str) -> Place:
    """Read a place. Ends the command for an invalid one."""
    try:
        return parse_place(text, now_ms())
    except ValueError:
        wrong(option, text, f"must be {FORMS}")


def moment(option: str, text: str, forms: str = "a time as 2026-03-01T12:00 (UTC without a zone)") -> int:
    """Read a time, and return milliseconds since the epoch. Ends the command for an invalid one."""
    try:
        return parse_moment(text)
    except ValueError:
        wrong(option, text, f"must be {forms}")


def duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    """Read a duration for an option's `callback`, and return milliseconds."""
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def iso(time_ms: int | None) -> str | None:
    """Return a time as text in UTC; after the year 9999, the number itself; None for none."""
    if time_ms is None or time_ms < 0:
        return None
    if time_ms > _LAST_MS:  # a producer may set any time
        return str(time_ms)
    return datetime.fromtimestamp(time_ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"  # noqa: UP017


def topics_and_partitions(texts: Iterable[str]) -> tuple[set[str], set[Partition]]:
    """Return the topics and partitions named as TOPIC and TOPIC:PARTITION. Ends the command for an invalid name."""
    topics: set[str] = set()
    partitions: set[Partition] = set()
    for text in texts:
        name, separator, number = text.rpartition(":")
        if not separator:
            topics.add(text)
        elif not number.isdecimal() or not name:
            wrong("topic", text, "must be TOPIC or TOPIC:PARTITION")
        else:
            partitions.add((name, int(number)))
    return topics, partitions


def partitions_of(session: Session, topics: Iterable[str]) -> list[Partition]:
    """Return the partitions named as TOPIC or TOPIC:PARTITION; the session notes missing ones."""
    named: dict[str, list[int] | None] = {}
    for text in topics:
        name, separator, number = text.rpartition(":")
        if not separator:
            named[text] = None
        elif not number.isdecimal() or not name:
            wrong("topic", text, "must be TOPIC or TOPIC:PARTITION")
        else:
            known = named.setdefault(name, [])
            if known is not None:
                known.append(int(number))
    found: list[Partition] = []
    for name, outcome in session.succeeded(session.admin.topics.describe(named)):
        wanted = named[name]
        numbers = [each.partition for each in outcome.partitions]
        for each in numbers if wanted is None else wanted:
            if each in numbers:
                found.append((name, each))
            else:
                session.failed(_no_partition(outcome, each))
    return found


def _no_partition(topic: TopicInfo, number: int) -> ClientError:
    return NotFound(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        f"partition {topic.name}-{number}",
        f"The topic has partitions 0 to {len(topic.partitions) - 1}.",
    )


from_option = click.option(
    "--from", "begin", metavar="PLACE", default="earliest", show_default=True, help=f"Where to begin: {FORMS}."
)
