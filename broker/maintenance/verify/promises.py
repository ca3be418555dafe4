"""What the small files at the top of a data folder promise of each log: where it starts, and how far it must go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.environment import Fs
from shareq.broker.log.checkpoints import parse_offsets
from shareq.broker.log.folders import FolderClaim
from shareq.broker.maintenance.verify.findings import Finding, RemoveFile, Report
from shareq.broker.maintenance.verify.logs import LogExpectation
from shareq.broker.maintenance.verify.metadata import CheckedMetadata

__all__ = ["Promises", "check_promises"]

LOG_START_FILE: Final = "log-start-offset-checkpoint"
RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
CLEAN_SHUTDOWN_FILE: Final = "clean-shutdown"
CLEANER_FILE: Final = "cleaner-offset-checkpoint"

TopicPartition = tuple[str, int]


class Promises:
    """By log: what is known besides its folder."""

    def __init__(
        self, starts: Mapping[TopicPartition, int], cleaned: Mapping[TopicPartition, int], *, stopped: bool
    ) -> None:
        """`stopped`: the broker was stopped cleanly, so that nothing is a write that was cut off."""
        self._starts = starts
        self._cleaned = cleaned
        self._stopped = stopped

    def of(self, partition: TopicPartition, *, compacted: bool) -> LogExpectation:
        gaps = compacted or partition in self._cleaned
        return LogExpectation(start=self._starts.get(partition), gaps=gaps, kept_tail=self._stopped)


def check_promises(
    fs: Fs, data_dir: str, metadata: CheckedMetadata, claims: Mapping[str, FolderClaim], report: Report
) -> Promises:
    """Read the checkpoints. OSError."""
    del metadata, claims
    starts = _offsets(fs, data_dir, LOG_START_FILE, "records that were deleted may be back", report)
    _offsets(fs, data_dir, RECOVERY_POINT_FILE, "the next start takes longer", report)
    cleaned = _offsets(fs, data_dir, CLEANER_FILE, "the cleaner reads compacted logs again", report)
    return Promises(starts, cleaned, stopped=fs.exists(f"{data_dir}/{CLEAN_SHUTDOWN_FILE}"))


def _offsets(fs: Fs, data_dir: str, name: str, consequence: str, report: Report) -> dict[TopicPartition, int]:
    report.files += 1
    try:
        return parse_offsets(fs.read_bytes(f"{data_dir}/{name}"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        report.add(Finding(name, str(error), consequence, remedy=RemoveFile(name)))
        return {}
