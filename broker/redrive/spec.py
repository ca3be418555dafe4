"""The task of a redrive: the queue and the choice of its letters, the target, the rate, and the owner's rights.
Pure.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from typing import Final, NamedTuple

from shareq.broker.security.names import ANONYMOUS
from shareq.protocol.names import REDRIVES

TOPIC_PREFIX: Final = "redrive."
"""The prefix that, before a group's id, makes the name of the topic for letters that are sent back to their group
only.
"""

MOST_PER_SECOND: Final = 1_000_000
MOST_TEXT: Final = 1_900
"""The most characters of a spec as text. It is committed with every offset; the rest of the allowed 4,096 characters
is for the progress.
"""

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,100}")


class Target(IntEnum):
    """The destination of letters: each is sent to the topic where it died, or all to the topic of their group."""

    TOPIC = 0
    GROUP = 1


class LetterFilter(NamedTuple):
    """A choice of letters. None and -1 match any. Offsets are inclusive; times are in milliseconds, the second one
    exclusive.

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
    """The client with whose rights a redrive reads and writes."""

    principal: str
    host: str

    @property
    def name(self) -> str:
        """The owner's name for limits: the user, or the address of an unauthenticated client."""
        return self.host if self.principal == ANONYMOUS else self.principal


class RedriveSpec(NamedTuple):
    """One redrive. `partition`, `first_offset` and `last_offset` (inclusive) are those of the queue; -1 means all.

    `producer_id` belongs to this redrive alone: batches with it in target logs are the redrive's. `parts` is the
    number of the queue's partitions in which it has progress.
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
        """The id of the group in whose offsets its progress is committed."""
        return REDRIVES + self.name


def problem_of(spec: RedriveSpec) -> str | None:
    """Return the fault of a spec, as a sentence; None if it has none."""
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
    """Return the one topic to which the redrive writes; None if it may write to several."""
    if spec.target is Target.GROUP:
        return f"{TOPIC_PREFIX}{spec.letters.group_id}"
    return spec.letters.topic


def spec_text(spec: RedriveSpec) -> str:
    """Return the spec as JSON, in ASCII."""
    return json.dumps(spec, separators=(",", ":"))


def spec_of(text: str) -> RedriveSpec:
    """Return the spec in a text of `spec_text`. Raise ValueError for any other text."""
    try:
        name, queue, target, per_second, owner, letters, *rest = json.loads(text)
        return RedriveSpec(name, queue, Target(target), per_second, Owner(*owner), LetterFilter(*letters), *rest)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no redrive: {error}") from None
