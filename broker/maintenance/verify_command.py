"""`shareq verify`: the command and its output."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from shareq.broker.data_folder.ownership import DataFolderError, look_at_folder
from shareq.broker.data_folder.sqlite_record import META_DB_FILE, SqliteRecord
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.foundation.repair_command import ADOPT_ALL, SET_ASIDE_ALL, repair_command
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.os_files import ReadOnlyFs, copied_database, lock_for_maintenance
from shareq.broker.maintenance.progress import Progress, bytes_text
from shareq.broker.maintenance.repair.apply import Choices, Repair
from shareq.broker.maintenance.repair.copies import Copies
from shareq.broker.maintenance.verify.findings import Finding, Report
from shareq.broker.maintenance.verify.folder import verify_folder

_ROUNDS: Final = 6  # the most rounds, since one repair may uncover faults for the next

Write = Callable[[str], None]


def verify(
    data_dir: str, choices: Choices | None, out: Write, err: Write, *, decode: bool = False, as_json: bool = False
) -> bool:
    """Check a data folder, with `choices` repair it, and print the findings. Return True if it is sound now.

    Raise MaintenanceError if it is not a data folder, or is in use, and OSError if its names cannot be read.
    """
    fs = ReadOnlyFs()
    _check_usable(fs, data_dir, repairs=choices is not None)
    done: list[str] = []
    with lock_for_maintenance(data_dir):
        report = _verified(fs, data_dir, decode, err)
        before = report
        if choices is not None:
            report = _repaired(
                fs=fs, data_dir=data_dir, choices=choices, report=report, decode=decode, done=done, err=err
            )
    if as_json:
        out(json.dumps(_as_json(data_dir, before, report, done)))
    else:
        _print(data_dir, before, report, done, out, repaired=choices is not None)
    return report.is_sound


def _check_usable(fs: ReadOnlyFs, data_dir: str, *, repairs: bool) -> None:
    """Raise MaintenanceError unless the folder is ours, in whatever state."""
    if not os.path.isdir(data_dir):
        raise MaintenanceError(f"{data_dir}: no such folder", usage=True)
    if repairs and not os.access(data_dir, os.W_OK):
        raise MaintenanceError(f"{data_dir}: cannot be written", usage=True)
    try:
        occupant = look_at_folder(fs, data_dir)
    except DataFolderError as error:
        if not error.has_repair:
            raise MaintenanceError(str(error), usage=True) from error
        return
    if occupant.fresh:
        raise MaintenanceError(f"{data_dir}: empty, there is nothing to check", usage=True)


def _verified(fs: ReadOnlyFs, data_dir: str, decode: bool, err: Write) -> Report:
    report = Report()
    progress = Progress("verify", time.monotonic, err)
    with copied_database(data_dir) as database:
        verify_folder(
            fs,
            data_dir,
            database(),
            report,
            decode=decode,
            expect=progress.expect,
            on_bytes=progress.bytes_done,
            on_log=progress.item_done,
        )
    return report


def _repaired(
    fs: ReadOnlyFs, data_dir: str, choices: Choices, report: Report, decode: bool, done: list[str], err: Write
) -> Report:
    writable = OsFs(lambda call: call())
    copies = Copies(writable, data_dir, f"repair-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")

    def open_database() -> SqliteRecord:
        return SqliteRecord(f"{data_dir}/{META_DB_FILE}", uuid.uuid4().hex)

    repair = Repair(writable, data_dir, choices, copies, open_database, lambda: uuid.uuid4().bytes)
    for _ in range(_ROUNDS):
        if not repair.apply(report):
            break
        report = _verified(fs, data_dir, decode, err)
    done += repair.done
    if copies:
        done.append(f"{len(copies)} files as they were before are in {data_dir}/{copies.name}")
    return report


def _print(data_dir: str, before: Report, after: Report, done: list[str], out: Write, *, repaired: bool) -> None:
    for line in before.lines():
        out(line)
    for line in done:
        out(f"repaired: {line}")
    if repaired and before is not after:
        for finding in after.damage:
            out(f"left: {finding.text()}")
    out(_summary(data_dir, after))
    command = repair_command(data_dir).strip("`")
    if not repaired and any(finding.remedy and not finding.option for finding in after.damage):
        out(f"next: {command}  (keeps a copy of what it changes)")
    for option in _options(after.damage):
        out(f"next: {command} {option}")


def _options(findings: Iterable[Finding]) -> list[str]:
    """Return the further options that `--repair` needs, one text for each command; several folders share one option."""
    options = sorted({finding.option for finding in findings if finding.option})
    for word, together in (("--adopt ", ADOPT_ALL), ("--set-aside ", SET_ASIDE_ALL)):
        named = [option for option in options if option.startswith(word)]
        if len(named) > 1:
            options = [option for option in options if option not in named] + [together]
    return options


def _summary(data_dir: str, report: Report) -> str:
    damage, notes = len(report.damage), len(report.findings) - len(report.damage)
    verdict = "sound" if report.is_sound else f"{damage} findings"
    if notes:
        verdict += f", {notes} notes"
    return (
        f"{data_dir}: {verdict}; {report.logs} logs, {report.files} files, {report.batches} batches, "
        f"{bytes_text(report.size)} read"
    )


def _as_json(data_dir: str, before: Report, after: Report, done: list[str]) -> dict[str, object]:
    def rows(findings: list[Finding]) -> list[object]:
        return [finding.to_json() for finding in findings]

    return {
        "data": data_dir,
        "sound": after.is_sound,
        "findings": rows(before.findings),
        "repaired": done,
        "left": rows(after.damage),
        "logs": after.logs,
        "files": after.files,
        "batches": after.batches,
        "bytes": after.size,
    }
