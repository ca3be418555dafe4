"""The report of a migration: a row for each object that moves, has moved, or does not move. Pure."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

Outcome = Literal["planned", "copied", "verified", "moved", "left", "refused", "differs"]
FAILED: Final = ("refused", "differs")
"""Outcomes after which the command ends with exit code 1."""


class MigrationRow(NamedTuple):
    """A row about one object. Offsets are those of readable records; ends are exclusive."""

    kind: Annotated[
        Literal["topic", "records", "config", "offsets", "share-group", "redrive", "acl", "quota", "user", "total"],
        "What it is; total: all that is to be copied, and for how long, of a dry run.",
    ]
    name: Annotated[str, "The topic, the group, or whom it is about."]
    partition: Annotated[int | None, "The partition's number; null of what has none."]
    outcome: Annotated[
        Outcome,
        "planned (nothing is changed), copied, verified (and compared with the source), moved; left (does not move), "
        "refused (cannot be moved as things are), differs (is not the same at the target).",
    ]
    source_start: Annotated[int | None, "The first offset at the source."] = None
    source_end: Annotated[int | None, "The offset at the source up to which it was, or would be, copied."] = None
    target_end: Annotated[int | None, "The offset at the target that follows the last record."] = None
    bytes: Annotated[int | None, "Bytes of the record batches; null where it is not known."] = None
    checksum: Annotated[str | None, "CRC-32C of all records, the same at source and target."] = None
    note: Annotated[str, "Why, or what to do."] = ""
