"""The check of a whole data folder: metadata, the small files at its top, and every partition."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from shareq.broker.data_folder.kept_twice import FirstRecord
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.folders import Claim, FolderClaim, claim_of
from shareq.broker.log.promises.checkpoints import (
    CLEANER_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    format_partition_metadata,
    parse_partition_metadata,
)
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import PARTITION_METADATA_FILE
from shareq.broker.maintenance.verify.findings import Finding, Level, NeedsDecision, Report, RewriteFile
from shareq.broker.maintenance.verify.logs import LogFacts, check_log
from shareq.broker.maintenance.verify.metadata import CheckedMetadata, check_metadata
from shareq.broker.maintenance.verify.promises import KnownLog, check_manifest, check_promises, missing_folders

_DELETED: Final = re.compile(r"[a-zA-Z0-9._-]+\.[0-9a-f]{32}-delete")
_STRAY: Final = re.compile(r"[a-zA-Z0-9._-]+\.[0-9a-f]{32}-stray")
_ASIDE: Final = re.compile(r"damaged-.+|repair-.+")
_KNOWN: Final = {
    "shareq.data",
    "meta.db",
    "meta.db-wal",
    "meta.db-shm",
    "metadata.journal",
    ".lock",
    MANIFEST_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    CLEANER_FILE,
    CLEAN_SHUTDOWN_FILE,
    "reserve",
    "lost+found",
}


class VerifiedFolder:
    """The result of a check: the report, the metadata, and by folder name the claims of folders and the facts about
    their logs.
    """

    def __init__(self, metadata: CheckedMetadata) -> None:
        self.metadata = metadata
        self.claims: dict[str, FolderClaim] = {}
        self.facts: dict[str, LogFacts] = {}


def verify_folder(
    fs: Fs,
    data_dir: str,
    database: FirstRecord,
    report: Report,
    *,
    decode: bool = False,
    expect: Callable[[int, int], None] = lambda _items, _size: None,
    on_bytes: Callable[[int], None] = lambda _: None,
    on_log: Callable[[], None] = lambda: None,
) -> VerifiedFolder:
    """Read every file, and add the faults to `report`. Nothing is changed. Raise OSError if a file cannot be read at
    all.

    `expect` is called with the number of logs and their bytes, `on_bytes` and `on_log` with the progress.
    """
    metadata = check_metadata(fs, data_dir, database, report)
    verified = VerifiedFolder(metadata)
    names = fs.list_dir(data_dir)
    for name in names:
        claim = claim_of(fs, data_dir, name, metadata.topics)
        if claim is not None and claim.claim is not Claim.FOREIGN:
            verified.claims[name] = claim
        elif name not in _KNOWN:
            _note_other(report, name)
    promises = check_promises(fs, data_dir, metadata, report)
    missing_folders(fs, data_dir, metadata, promises, verified.claims, report)
    known: list[KnownLog] = []
    expect(len(verified.claims), _size_of(fs, data_dir, list(verified.claims)))
    for name, claim in verified.claims.items():
        _check_claim(fs, data_dir, claim, report)
        if fs.is_folder(f"{data_dir}/{name}"):
            before = len(report.damage)
            expected = promises.of(claim, compacted=metadata.topics.is_compacted(claim.partition[0]))
            facts = check_log(
                fs, data_dir, name, claim.partition[0], expected, report, decode=decode, on_bytes=on_bytes
            )
            verified.facts[name] = facts
            if claim.claim in (Claim.LIVE, Claim.UNNAMED):
                known.append(KnownLog(claim, facts, sound=len(report.damage) == before))
            report.logs += 1
        on_log()
    check_manifest(promises, known, report)
    return verified


def _check_claim(fs: Fs, data_dir: str, claim: FolderClaim, report: Report) -> None:
    path = f"{claim.name}/{PARTITION_METADATA_FILE}"
    match claim.claim:
        case Claim.UNNAMED if claim.topic is not None:
            content = format_partition_metadata(claim.topic.topic_id)
            consequence = "a start rewrites it from metadata; nothing is lost"
            report.add(Finding(path, claim.problem, consequence, remedy=RewriteFile(path, content)))
        case Claim.UNKNOWN:
            topic, partition = claim.partition
            topic_id = _topic_id(fs, f"{data_dir}/{path}") if fs.is_folder(f"{data_dir}/{claim.name}") else b""
            decision = NeedsDecision(claim.name, topic, partition, topic_id, claim.adoptable)
            option = f"--adopt {claim.name}" if claim.adoptable else f"--set-aside {claim.name}"
            instead = f"; --set-aside {claim.name} leaves them in no topic" if claim.adoptable else ""
            consequence = f"a start refuses: its records may belong to a topic that was lost{instead}"
            report.add(Finding(claim.name, claim.problem, consequence, remedy=decision, option=option))
        case Claim.DELETED:
            report.add(Finding(claim.name, "of a deleted topic", "a start removes it", level=Level.NOTE))
        case _:
            return


def _topic_id(fs: Fs, path: str) -> bytes:
    try:
        return parse_partition_metadata(fs.read_bytes(path))
    except (FileNotFoundError, ValueError):
        return b""


def _note_other(report: Report, name: str) -> None:
    if _DELETED.fullmatch(name):
        report.add(Finding(name, "of a deleted topic", "a start removes it", level=Level.NOTE))
    elif _STRAY.fullmatch(name):
        report.add(Finding(name, "set aside by an earlier release", "it is left alone", level=Level.NOTE))
    elif name.endswith(".tmp") or name == f"{MANIFEST_FILE}.new":
        report.add(Finding(name, "half written", "it is left alone", level=Level.NOTE))
    elif not _ASIDE.fullmatch(name):
        report.add(Finding(name, "not a file of ours", "it is left alone", level=Level.NOTE))


def _size_of(fs: Fs, data_dir: str, names: list[str]) -> int:
    """Return the bytes of the logs."""
    total = 0
    for name in names:
        folder = f"{data_dir}/{name}"
        for each in fs.list_dir(folder) if fs.is_folder(folder) else ():
            if each.endswith(".log"):
                file = fs.open(f"{folder}/{each}")
                total += file.size()
                file.close()
    return total
