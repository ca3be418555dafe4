"""The cases in which Apache Kafka's tests print something else on our broker, and why.

A difference rewrites Apache Kafka's output, and if necessary ours, so that both must be equal. docs/kafka-tools.md
lists them for readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Lines = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in one command's output: after `apache` and `ours` are applied to the lines, both are equal."""

    why: str
    apache: Lines = lambda lines: lines
    ours: Lines = lambda lines: lines


# What Apache Kafka says, what we say, and what both mean. Exception classes and codes are compared as they are.
_OWN_WORDS: Final = (
    (
        r"There is no offset information to delete\.",
        r"The share group has no offsets of the topic to delete\.",
        "<none>",
    ),
    (r"This server does not host this topic-partition\.", r"The topic does not exist\.", "<no such topic>"),
    (r"The group is not empty\.", r"Share group \w+ has members\.", "<not empty>"),
    (r"The group id is invalid\.", r"The group id is empty\.", "<invalid group id>"),
    (r": Value must be at least (\d+)", r": must be at least (\d+)", r" <too small: \1>"),
    (r": Not a number of type INT", r": must be a whole number of type INT.*", r" <not a number>"),
    (r": Expected value to be either true or false", r": must be either true or false", " <not a truth value>"),
    (r": String must be one of: .*", r": must be one of .*", " <not one of them>"),
    (r": Invalid value `.*` for configuration.*", r": must be latest, earliest, or by_duration: .*", " <not a reset>"),
    (
        r"(\S+) must be (?:in the range -?\d+ to -?\d+ inclusive\.|(?:less|greater) than or equal to group\.\S+)",
        r"Invalid value \d+ for configuration (\S+): must be (?:in the range .* inclusive|at most group\.\S+ .*)",
        r"<\1 out of bounds>",
    ),
    (
        r"Cannot update these configs dynamically: \[(\S+)\]",
        r"These configs cannot be updated dynamically: (\S+)",
        r"<not dynamic: \1>",
    ),
    (r"No such partition as (\w+)-(\d+)", r"There is no partition (\d+) of topic '(\w+)'", "<no such partition>"),
    (r"No such topic as \w+", r"There is no topic '\w+'", "<no such topic>"),
    (r"$^", r"; it is now called \S+", ""),
)


def _meaning(lines: list[str], column: int) -> list[str]:
    for row in _OWN_WORDS:
        lines = [re.sub(row[column], row[2], line) for line in lines]
    return lines


def _one_epoch_less(line: str) -> str:
    """Lower the group's epoch and the assignment's in a group's row by one."""
    return re.sub(r"(?<=Empty           )(\d+)( +)(\d+)", lambda m: f"{int(m[1]) - 1}{m[2]}{int(m[3]) - 1}", line)


def _with_half_the_epochs(lines: list[str]) -> list[str]:
    """Join, in a group's records, the epoch that creates new partitions and the next, which assigns them."""
    shown: list[str] = []
    for line in lines:
        if '"topicPartitions": []' in line:
            continue
        line = re.sub(r'("\w*poch": )([2-9]\d*)', lambda m: f"{m[1]}{int(m[2]) // 2 + 1}", line)
        member = re.search(r'"memberEpoch": \d+', line)
        if member is not None and member[0] in shown[-1]:  # the same epoch: what it ends with, and what was before it
            line = re.sub(r'"previous\w+": \d+', re.findall(r'"previous\w+": \d+', shown.pop())[0], line)
        if not shown or line != shown[-1]:
            shown.append(line)
    return shown


def _each(change: Callable[[str], str]) -> Lines:
    return lambda lines: [change(line) for line in lines]


def _without(*patterns: str) -> Lines:
    return lambda lines: [line for line in lines if not any(re.search(pattern, line) for pattern in patterns)]


def _outcome(text: str) -> Lines:
    """Compare only whether this text is printed."""
    return lambda lines: [] if any(text in line for line in lines) else lines


_SECONDARY: Final = r"(, )?DEFAULT_CONFIG:log\.(retention|roll|roll\.jitter|flush\.scheduler)\.(hours|interval\.ms)=\d+"


def _without_min_isr(lines: list[str]) -> list[str]:
    lines = [line for line in lines if not line.startswith("  min.insync.replicas=1") or "DYNAMIC_TOPIC" in line]
    lines = [line.replace(" DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1,", "") for line in lines]
    return [re.sub(r"(Topic: __consumer_offsets\b.*),min\.insync\.replicas=1", r"\1", line) for line in lines]


def _as_compacted(lines: list[str]) -> list[str]:
    lines = [re.sub(r"(?<!log\.)cleanup\.policy=delete", "cleanup.policy=compact", line) for line in lines]
    return [re.sub(r"DEFAULT_CONFIG:log\.local\.retention\.\w+=-2", "", line) for line in lines]


DIFFERENCES: Final[dict[str, Difference]] = {
    "own words": Difference(
        "The texts of errors are this broker's own; their codes are the same.",
        apache=lambda lines: _meaning(lines, 0),
        ours=lambda lines: _meaning(lines, 1),
    ),
    "first assignment": Difference(
        "A joining member gets its partitions in the first answer, so a group has one epoch in place of its first two.",
        apache=_each(_one_epoch_less),
    ),
    "records of a fresh group": Difference(
        "New share partitions are created and assigned within one heartbeat, with one epoch in place of two. The start "
        "offset of a share partition is stored before its first record is handed out.",
        apache=_with_half_the_epochs,
        ours=_without(r'type 1 .*"startOffset": \d+, "stateBatches": \[\]'),
    ),
    "no streams groups": Difference("There are no streams groups.", apache=_without(r"^  streams\.")),
    "no eligible leader replicas": Difference(
        "With eligible leader replicas on, Apache Kafka sets min.insync.replicas for all brokers; here it is not set.",
        apache=_without_min_isr,
    ),
    "broker properties": Difference(
        "One replica is the default of the state topic, not three; the KIP's own switch and limit are properties here.",
        apache=_each(
            lambda line: re.sub(
                r"(DEFAULT_CONFIG:share\.coordinator\.state\.topic\.(min\.isr|rep\S+)=)\d", r"\g<1>1", line
            )
        ),
        ours=_without(r"^  group\.share\.(enable|max\.groups)="),
    ),
    "unknown broker properties": Difference(
        "There are no plug-ins that could use an unknown property, so it is refused, not stored.",
        apache=_outcome("Completed updating"),
        ours=_outcome("InvalidRequestException: These configs cannot be updated dynamically: group.share.no.such"),
    ),
    "state topic": Difference(
        "The state topic is compacted, as the KIP asks. A property that comes from the second or third of several "
        "broker properties (log.retention.hours, log.roll.hours) names it. There is no tiered storage.",
        apache=lambda lines: _without_min_isr(_as_compacted(lines)),
        ours=_each(lambda line: re.sub(_SECONDARY, "", line)),
    ),
    "policy of the state topic": Difference(
        "Only one policy keeps the state topic's records, which are changes, so there is no other.",
        apache=_outcome("Completed updating"),
        ours=_outcome("InvalidConfigurationException: Invalid value delete for configuration cleanup.policy"),
    ),
}
