"""Findings of `shareq verify`, and the remedies that `--repair` has for each. Pure.

A *note* is what a kill or a power cut leaves and a start deals with: it needs no operator. *Damage* is everything else.
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
    """The file holds nothing that is not elsewhere: without it, a start makes it again."""

    path: str


class RewriteFile(NamedTuple):
    """The file's whole content is known for certain."""

    path: str
    content: bytes


class HealHeader(NamedTuple):
    """Bytes of a batch header that no CRC covers, but with a value that is certain."""

    path: str
    position: int
    content: bytes


class LoseBatches(NamedTuple):
    """Give up bytes from `position` to `end` of a segment: an empty batch takes the place of their offsets."""

    path: str
    position: int
    end: int
    first_offset: int
    next_offset: int


class LoseTail(NamedTuple):
    """Give up everything from `position` on: the end of a segment after which no sound batch follows."""

    path: str
    position: int


class MissingOffsets(NamedTuple):
    """A missing segment: an empty one takes its place, so that the log has no hole. `path` is the new one's."""

    path: str
    first_offset: int
    next_offset: int


class MissingFolder(NamedTuple):
    """A missing folder of a partition.

    A new one with an empty segment takes its place, and the log ends at the same offset.
    """

    name: str
    topic_id: bytes
    first_offset: int
    next_offset: int


class NewManifest(NamedTuple):
    """A manifest that promises the logs as they were found; everything is synced first."""

    rows: Mapping[tuple[str, int], LogRow]


class RepairMetadata(NamedTuple):
    """Marker, database and journal are made equal, as by a start, from the copy that can be trusted."""


class NeedsDecision(NamedTuple):
    """A folder of a topic that is not known: `--adopt NAME` or `--set-aside NAME`. `topic_id` is empty if unknown.

    `adoptable`: it can be a partition of the topic of its name.
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
    """One thing that is wrong. `path` is relative to the data folder, `position` a byte in it (None: the whole file).

    `consequence`: the loss that it causes, and the reaction of a start. `option`: an option that `--repair` also needs
    for it.
    """

    path: str
    problem: str
    consequence: str
    position: int | None = None
    level: Level = Level.DAMAGE
    remedy: Remedy | None = None
    option: str = ""

    def text(self) -> str:
        """Two lines for people."""
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
    """All findings, and the amount of data checked. The producer id is -1 if no log has one."""

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
        """Return the printed lines, but for the summary."""
        return [finding.text() for finding in self.findings]


def _repair_text(finding: Finding) -> str:
    if finding.remedy is None:
        return ""
    return f"--repair {finding.option}".strip()
