"""`shareq backup` and `shareq restore`: the commands and their output."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Final

from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.maintenance.backup.restore import check_backup, restore_backup
from shareq.broker.maintenance.backup.store import BackupStore
from shareq.broker.maintenance.backup.take import human_time, take_backup
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.progress import Progress, bytes_text

Write = Callable[[str], None]

_HEADER: Final = f"{'name':<22}{'moment':<26}{'files':>8}{'size':>12}"


def backup(data_dir: str, dest: str, keep: int | None, patience_s: float, out: Write, err: Write) -> None:
    """Take one backup and print the result. Raise MaintenanceError."""
    progress = Progress("backup", time.monotonic, err)
    try:
        taken = take_backup(data_dir, dest, patience_s=patience_s, progress=progress, keep=keep)
    except OSError as error:
        raise MaintenanceError(f"backup of {data_dir} to {dest}: {_reason(error)}") from error
    for warning in taken.warnings:
        err(f"shareq: warning: {warning}")
    out(
        f"backup {taken.name}: {taken.logs} logs, {taken.files} files, {bytes_text(taken.size)}, "
        f"of these {bytes_text(taken.new_bytes)} new, in {dest}"
    )
    if taken.removed:
        out(f"removed {', '.join(taken.removed)}")


def list_backups(dest: str, as_json: bool, out: Write) -> None:
    """Print the backups, the oldest first. Raise MaintenanceError."""
    store = BackupStore.existing(dest)
    rows = []
    for name in store.names():
        catalog = store.read(name)
        rows.append((name, catalog.taken_ms, len(catalog.entries), catalog.size, catalog.cluster_id))
    if as_json:
        out(json.dumps([_row(*row) for row in rows]))
        return
    out(_HEADER)
    for name, taken_ms, files, size, _ in rows:
        out(f"{name:<22}{human_time(taken_ms):<26}{files:>8}{bytes_text(size):>12}")


def check_backups(dest: str, out: Write, err: Write) -> bool:
    """Read all backups completely. Return True if they are as they were written. Raise MaintenanceError."""
    store = BackupStore.existing(dest)
    sound = True
    for name in store.names():
        bad = check_backup(store, name, Progress("check", time.monotonic, err, "files"))
        for line in bad:
            out(line)
        sound = sound and not bad
        out(f"backup {name}: {'damaged' if bad else 'sound'}")
    return sound


def restore(dest: str, data_dir: str, name: str | None, out: Write, err: Write) -> None:
    """Restore one backup and print the result. Raise MaintenanceError."""
    progress = Progress("restore", time.monotonic, err, "files")
    try:
        restored = restore_backup(OsFs(lambda call: call()), dest, data_dir, name=name, progress=progress)
    except OSError as error:
        raise MaintenanceError(f"restore of {dest} into {data_dir}: {_reason(error)}") from error
    for warning in restored.warnings:
        err(f"shareq: warning: {warning}")
    out(
        f"restored backup {restored.name} of {human_time(restored.taken_ms)}: {restored.files} files, "
        f"{bytes_text(restored.size)}, into {data_dir}"
    )


def _row(name: str, taken_ms: int, files: int, size: int, cluster_id: str) -> Mapping[str, object]:
    return {"name": name, "taken_ms": taken_ms, "files": files, "bytes": size, "cluster_id": cluster_id}


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)
