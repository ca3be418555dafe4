"""Places in logs as a user writes them: `earliest`, `latest`, an offset, or a time; and names of partitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Final, NamedTuple

import click

from shareq.client.admin import Admin, Partition
from shareq.client.admin.calls import NotFound, Outcome
from shareq.client.admin.topics import EARLIEST, LATEST, TopicInfo
from shareq.client.cli.command import Session, now_ms
from shareq.client.cli.exits import wrong
from shareq.client.errors import ClientError
from shareq.protocol.errors import ErrorCode

FORMS: Final = "earliest, latest, an offset, a time as 2026-03-01T12:00 (UTC without a zone), or an age as -90m"
_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGE: Final = re.compile(r"-(\d+)([smhd])")


class Place(NamedTuple):
    """A place: a number of `kind` offset or time (milliseconds, or EARLIEST and LATEST)."""

    kind: str
    value: int


def place(option: str, text: str) -> Place:
    """Read a place. Ends the command for what is none."""
    if text in ("earliest", "latest"):
        return Place("time", EARLIEST if text == "earliest" else LATEST)
    if text.isascii() and text.isdecimal():
        return Place("offset", int(text))
    if age := _AGE.fullmatch(text):
        return Place("time", now_ms() - int(age[1]) * _UNITS[age[2]])
    return Place("time", moment(option, text, FORMS))


def moment(option: str, text: str, forms: str = "a time as 2026-03-01T12:00 (UTC without a zone)") -> int:
    """Read a time, in milliseconds since the epoch. Ends the command for what is none."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        wrong(option, text, f"must be {forms}")
    aware = read if read.tzinfo is not None else read.replace(tzinfo=timezone.utc)  # noqa: UP017
    return int(aware.timestamp() * 1000)


def iso(time_ms: int | None) -> str | None:
    """A time in UTC as text; None for none."""
    if time_ms is None or time_ms < 0:
        return None
    return datetime.fromtimestamp(time_ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"  # noqa: UP017


def offsets_of(admin: Admin, at: Place, partitions: Sequence[Partition]) -> dict[Partition, Outcome[int]]:
    """The offsets of a place in partitions. Beyond the end, and below the start, it is the end, and the start."""
    if at.kind == "time" and at.value < 0:
        plain = admin.topics.offsets(dict.fromkeys(partitions, at.value))
        return {each: one if isinstance(one, ClientError) else one.offset or 0 for each, one in plain.items()}
    starts = admin.topics.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = admin.topics.offsets(dict.fromkeys(partitions, LATEST))
    times = admin.topics.offsets(dict.fromkeys(partitions, at.value)) if at.kind == "time" else {}
    found: dict[Partition, Outcome[int]] = {}
    for each in partitions:
        start, end, by_time = starts[each], ends[each], times.get(each)
        if isinstance(start, ClientError):
            found[each] = start
        elif isinstance(end, ClientError):
            found[each] = end
        elif isinstance(by_time, ClientError):
            found[each] = by_time
        else:
            wanted = at.value if by_time is None else by_time.offset
            last = end.offset or 0
            found[each] = last if wanted is None else min(max(wanted, start.offset or 0), last)
    return found


def topics_and_partitions(texts: Iterable[str]) -> tuple[set[str], set[Partition]]:
    """Whole topics, and partitions, named as TOPIC and TOPIC:PARTITION. Ends the command for what is neither."""
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
    """Partitions of topics that are named as TOPIC or TOPIC:PARTITION; of missing ones the session notes it."""
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
    for name, outcome in session.admin.topics.describe(named):
        if isinstance(outcome, ClientError):
            session.failed(outcome)
            continue
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
