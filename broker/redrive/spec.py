"""The task of a redrive: which letters of which queue, their target, the rate, and the owner's rights. Pure."""

from __future__ import annotations

import json
import re
from enum import IntEnum
from typing import Final, NamedTuple

from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.names import REDRIVES

TOPIC_PREFIX: Final = "redrive."
"""The prefix that makes of a group's id the name of the topic of letters that go back to their group alone."""

MOST_PER_SECOND: Final = 1_000_000
MOST_TEXT: Final = 1_900
"""Characters of a spec as text: it is committed with every offset, of whose 4,096 the rest is for what is under way."""

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")


class Target(IntEnum):
    """The destination of letters: each to the topic it is from, or all to the one of their group."""

    TOPIC = 0
    GROUP = 1


class LetterFilter(NamedTuple):
    """A choice of letters. None and -1: any. Offsets inclusive; times in milliseconds, the second one exclusive.

    `reason` is a letter's message, or its disposition.
    """

    group_id: str | None = None
    topic: str | None = None
    partition: int = -1
    first_offset: int = -1
    last_offset: int = -1
    reason: str | None = None
    died_from_ms: int = -1
    died_until_ms: int = -1


class Owner(NamedTuple):
    """The client by whose rights a redrive reads and writes."""

    principal: str
    host: str

    @property
    def name(self) -> str:
        """The owner's name for limits: the user, or the machine of a client that did not authenticate."""
        return self.host if self.principal == ANONYMOUS else self.principal


class RedriveSpec(NamedTuple):
    """One redrive. `partition`, `first_offset` and `last_offset` (inclusive) are the queue's; -1: all there is.

    `producer_id` is its own: batches in target logs that have it are the redrive's. `parts`: in how many of the queue's
    partitions it has progress.
    """

    name: str
    queue: str
    target: Target
    per_second: int
    owner: Owner
    letters: LetterFilter = LetterFilter()
    partition: int = -1
    first_offset: int = -1
    last_offset: int = -1
    producer_id: int = -1
    started_ms: int = -1
    parts: int = 0
    again: bool = False  # also letters that a redrive has sent back before

    @property
    def group_id(self) -> str:
        """The group that has committed its progress."""
        return REDRIVES + self.name


def problem_of(spec: RedriveSpec) -> str | None:
    """Return a fault of a spec, as a sentence; None if it has none."""
    if _NAME.fullmatch(spec.name) is None:
        return "Name must be 1 to 100 characters of a-z, A-Z, 0-9, '.', '_' and '-'."
    if not 1 <= spec.per_second <= MOST_PER_SECOND:
        return f"RecordsPerSecond must be from 1 to {MOST_PER_SECOND}, not {spec.per_second}."
    letters = spec.letters
    numbers = (spec.partition, spec.first_offset, spec.last_offset, *letters[2:5], *letters[6:])
    if any(isinstance(number, int) and number < -1 for number in numbers):
        return "Partitions, offsets and times must be 0 or more, or -1 for all."
    if (spec.first_offset >= 0 or spec.last_offset >= 0) and spec.partition < 0:
        return "FirstOffset and LastOffset need a QueuePartition."
    if spec.target is Target.GROUP and not letters.group_id:
        return "Letters go back to one group alone: GroupId must name it."
    if len(spec_text(spec)) > MOST_TEXT:
        return f"Names and texts are too long: all of them together may have some {MOST_TEXT} characters."
    return None


def target_topic(spec: RedriveSpec) -> str | None:
    """Return the one topic that the redrive writes to, if that is known beforehand."""
    if spec.target is Target.GROUP:
        return f"{TOPIC_PREFIX}{spec.letters.group_id}"
    return spec.letters.topic


def spec_text(spec: RedriveSpec) -> str:
    """Return the spec as JSON, in ASCII."""
    return json.dumps(spec, separators=(",", ":"))


def spec_of(text: str) -> RedriveSpec:
    """Return the spec that `spec_text` wrote. Raises ValueError for anything else."""
    try:
        name, queue, target, per_second, owner, letters, *rest = json.loads(text)
        return RedriveSpec(name, queue, Target(target), per_second, Owner(*owner), LetterFilter(*letters), *rest)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no redrive: {error}") from None
