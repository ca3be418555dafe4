"""Findings of `shareq verify`, and the remedies that `--repair` has for each. Pure.

A *note* is about something that a kill or a power loss leaves and a start repairs: it needs no operator. *Damage* is
everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from shareq.broker.log.promises.manifest import LogRow


class Level(Enum):
    """The severity of a finding."""

    NOTE = "note"
    DAMAGE = "damage"


class RemoveFile(NamedTuple):
    """Remedy: remove a file that a start can make again without loss."""

    path: str


class RewriteFile(NamedTuple):
    """Remedy: write a file again, whose whole content is certain."""

    path: str
    content: bytes


class HealHeader(NamedTuple):
    """Remedy: correct bytes of a batch header that no CRC covers, but whose values are certain."""

    path: str
    position: int
    content: bytes


class LoseBatches(NamedTuple):
    """Remedy: give up the bytes from `position` to `end` of a segment. Empty batches take the place of their
    offsets.
    """

    path: str
    position: int
    end: int
    first_offset: int
    next_offset: int


class LoseTail(NamedTuple):
    """Remedy: give up everything from `position` on, the end of a segment in which no sound batch follows."""

    path: str
    position: int


class MissingOffsets(NamedTuple):
    """Remedy for a missing segment: an empty one takes its place, so that the log has no hole. `path` is that of the
    new one.
    """

    path: str
    first_offset: int
    next_offset: int


class MissingFolder(NamedTuple):
    """Remedy for a partition's missing folder.

    A new one with an empty segment takes its place, and the log ends at the same offset.
    """

    name: str
    topic_id: bytes
    first_offset: int
    next_offset: int


class NewManifest(NamedTuple):
    """Remedy: write a manifest that promises the logs as they were found, after everything was synced."""

    rows: Mapping[tuple[str, int], LogRow]


class RepairMetadata(NamedTuple):
    """Remedy: make marker, database and journal equal, as a start does, from the copy that can be trusted."""


class NeedsDecision(NamedTuple):
    """Remedy for a folder of an unknown topic: `--adopt NAME` or `--set-aside NAME`. `topic_id` is empty if it is
    unknown.

    `adoptable`: the folder can be a partition of the topic with its name.
    """

    name: str
    topic: str
    partition: int
    topic_id: bytes
    adoptable: bool = True


Remedy = (
    RemoveFile
    | RewriteFile
    | HealHeader
    | LoseBatches
    | LoseTail
    | MissingOffsets
    | MissingFolder
    | NewManifest
    | RepairMetadata
    | NeedsDecision
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. `path` is relative to the data folder, `position` is a byte in it (None: the whole file).

    `consequence`: the loss that it causes, and the reaction of a start. `option`: the further option that `--repair`
    needs to repair it.
    """

    path: str
    problem: str
    consequence: str
    position: int | None = None
    level: Level = Level.DAMAGE
    remedy: Remedy | None = None
    option: str = ""

    def text(self) -> str:
        """Return two lines of text for the operator."""
        where = self.path if self.position is None else f"{self.path}: at byte {self.position}"
        return f"{self.level.value}: {where}: {self.problem}\n    {self.consequence}"

    def to_json(self) -> Mapping[str, object]:
        return {
            "level": self.level.value,
            "path": self.path,
            "position": self.position,
            "problem": self.problem,
            "consequence": self.consequence,
            "repair": _repair_text(self),
        }


@dataclass(slots=True)
class Report:
    """All findings, and the amount of data checked. The producer id is the highest in the logs, -1 if there is none."""

    findings: list[Finding] = field(default_factory=list)
    logs: int = 0
    files: int = 0
    batches: int = 0
    size: int = 0
    highest_producer_id: int = -1

    @property
    def damage(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level is Level.DAMAGE]

    @property
    def is_sound(self) -> bool:
        return not self.damage

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)

    def lines(self) -> list[str]:
        """Return the lines to print, without the summary."""
        return [finding.text() for finding in self.findings]


def _repair_text(finding: Finding) -> str:
    if finding.remedy is None:
        return ""
    return f"--repair {finding.option}".strip()
