"""The files of a query: its checkpoint's logs, and its sink."""

from __future__ import annotations

import json
from pathlib import Path

from shareq.spark.offsets import SourceOffset
from tests.spark.kills.ledger import Attempt, Checkpoint, Range, Row, content_hash


def read_checkpoint(folder: Path) -> Checkpoint:
    """Return the offset log and the commit log of a query with one source.

    An offset log's file has the version of the format, a line of metadata, and the offset of each source.
    """
    logged = {int(path.name): _ranges(path) for path in (folder / "offsets").glob("[0-9]*")}
    return Checkpoint(logged, sorted(int(path.name) for path in (folder / "commits").glob("[0-9]*")))


def _ranges(path: Path) -> list[Range]:
    lines = path.read_text().splitlines()
    assert lines[0] == "v1", f"{path} is of a format that is not known here: {lines[0]}"
    offset = SourceOffset.from_json(json.loads(lines[2]))
    return [Range(key.partition, first, last) for key, found in offset.batch.items() for first, last, _ in found]


def read_sink(folder: Path) -> list[Attempt]:
    """Return the attempts in the order in which they were written.

    Raise AssertionError for a file with another content than was written.
    """
    attempts = []
    for path in sorted(folder.glob("*.json")):
        reported = json.loads(path.read_text())
        rows = [Row(*row) for row in reported["rows"]]
        assert content_hash(rows) == reported["hash"], f"{path} is damaged"
        attempts.append(Attempt(reported["batch"], rows))
    return attempts
