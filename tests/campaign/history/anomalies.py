"""The findings of the checker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Analysis(Enum):
    """The name of an analysis. The first names are those of jepsen.tests.kafka's analyses."""

    ABORTED_READ = "aborted-read (G1a)"
    INTERMEDIATE_READ = "intermediate-read (G1b)"
    PRECOMMITTED_READ = "precommitted-read"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    LOST_WRITE = "lost-write"
    UNSEEN = "unseen"
    DUPLICATE = "duplicate"
    INT_POLL_SKIP = "int-poll-skip"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    POLL_SKIP = "poll-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    WRITE_CYCLE = "write cycle (G0-realtime)"
    INFORMATION_CYCLE = "circular information flow (G1c)"

    GARBAGE = "garbage: a record that nobody sent"
    DELETED_READ = "deleted-read"
    START_MOVED_BACK = "log start moved back"
    LOST_UPDATE = "lost-update of a register"
    REFUSED = "refused for lost state"

    ACKNOWLEDGED_AGAIN = "share: acknowledged, delivered again"
    TWO_OWNERS = "share: two owners"
    UNDELIVERED = "share: never delivered until done"
    DELIVERY_COUNT = "share: delivery count"
    SHARE_START_MOVED_BACK = "share: start offset moved back"
    WRONG_RECORD = "share: another record than the log's"


@dataclass(frozen=True, slots=True)
class Anomaly:
    analysis: Analysis
    text: str
    subject: str = ""
    """The value or the register that the anomaly is about, if there is one."""

    def __str__(self) -> str:
        return f"{self.analysis.value}: {self.text}"
