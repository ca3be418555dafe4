"""Brokers with a planted fault. The history of a few kills must reveal each.

`python -m tests.campaign.storage.planted serve ...` with the fault's name in SHAREQ_PLANTED. Faults of memory replace a
part of the broker; faults of the disk damage the data folder at each start but the first, as a faulty recovery would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Final

from tests.campaign.storage.scene import LOCK_MS

VARIABLE: Final = "SHAREQ_PLANTED"


class Fault(Enum):
    CUTS_LOGS = "each start cuts off the last batches of the topics' logs"
    CUTS_SHARE_STATE = "each start cuts off the last half of the share groups' state"
    CUTS_OFFSETS = "each start cuts off the last half of the committed offsets"
    FORGETS_LOGS = "each start begins with an empty log of one topic"
    COMMITS_ALL = "an aborted transaction gets the marker of a commit"
    NO_SEQUENCES = "a batch that a producer sends again is appended again"
    SHORT_LOCKS = "a lock ends after half of its time"
    FORGETS_ACCEPTS = "what was accepted becomes available again when the broker starts"


def _last_logs(data_dir: Path, prefix: str) -> list[Path]:
    """Return the newest segment of each partition, if it is not empty."""
    folders = [folder for folder in data_dir.iterdir() if folder.is_dir() and folder.name.startswith(prefix)]
    newest = [max(folder.glob("*.log"), default=None) for folder in folders]
    return [path for path in newest if path is not None and path.stat().st_size]


def _cut(paths: list[Path], keep: float) -> None:
    for path in paths:
        os.truncate(path, int(path.stat().st_size * keep))


def _cuts_logs(data_dir: Path) -> None:
    _cut(_last_logs(data_dir, "plain-") + _last_logs(data_dir, "transacted-"), 0.6)


def _cuts_share_state(data_dir: Path) -> None:
    _cut(_last_logs(data_dir, "__share_group_state-"), 0.5)


def _cuts_offsets(data_dir: Path) -> None:
    _cut(_last_logs(data_dir, "__consumer_offsets-"), 0.5)


def _forgets_logs(data_dir: Path) -> None:
    for folder in data_dir.glob("plain-*"):
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()


def _forgets_accepts(data_dir: Path) -> None:
    for folder in data_dir.glob("__share_group_state-*"):
        for path in folder.glob("*.log"):
            os.truncate(path, 0)


def _commits_all() -> None:
    from shareq.broker.log import markers

    plain: Any = vars(markers)["build_end_transaction_marker"]

    def always_commit(**given: Any) -> Any:
        return plain(**{**given, "commit": True})

    _replace(markers, "build_end_transaction_marker", always_commit)


def _no_sequences() -> None:
    from shareq.broker.log.producer_state import ProducerStates
    from shareq.protocol.errors import ErrorCode

    def never(*_given: Any, **_named: Any) -> ErrorCode:
        return ErrorCode.NONE

    _replace(ProducerStates, "check", never)


def _replace(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: the fault has to be planted elsewhere"
    setattr(owner, name, value)


_OF_DISK: Final[dict[Fault, Callable[[Path], None]]] = {
    Fault.CUTS_LOGS: _cuts_logs,
    Fault.CUTS_SHARE_STATE: _cuts_share_state,
    Fault.CUTS_OFFSETS: _cuts_offsets,
    Fault.FORGETS_LOGS: _forgets_logs,
    Fault.FORGETS_ACCEPTS: _forgets_accepts,
}
_OF_MEMORY: Final[dict[Fault, Callable[[], None]]] = {
    Fault.COMMITS_ALL: _commits_all,
    Fault.NO_SEQUENCES: _no_sequences,
}


def plant(fault: Fault, arguments: list[str]) -> None:
    """Plant the fault in this process's broker. `arguments` is its command line."""
    if (change := _OF_MEMORY.get(fault)) is not None:
        change()
    if fault is Fault.SHORT_LOCKS:
        name = "group.share.record.lock.duration.ms="
        arguments[:] = [f"{name}{LOCK_MS // 2}" if one.startswith(name) else one for one in arguments]
    data_dir = Path(arguments[arguments.index("--data-dir") + 1])
    if data_dir.exists() and (damage := _OF_DISK.get(fault)) is not None:
        damage(data_dir)


if __name__ == "__main__":
    plant(Fault[os.environ[VARIABLE]], sys.argv)
    from shareq.ops.cli.main import main

    main()
