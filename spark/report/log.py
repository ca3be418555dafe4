"""Writes the progress events of a session's queries to a file, while they run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class ProgressLog(StreamingQueryListener):
    """A listener that appends each event to `path` as StreamingQueryProgress.json has it, one a line.

    What would repeat the checkpoint is left out: start and end offsets, which list every range of a micro-batch. With
    `query`, only events of the query of that name are written. Each line is with the operating system when the listener
    returns, and the file may be read meanwhile; a restarted driver goes on in the same file.
    """

    def __init__(self, path: str | os.PathLike[str], query: str | None = None) -> None:
        super().__init__()
        self._path = Path(path)
        self._query = query

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if self._query is not None and event.progress.name != self._query:
            return
        line = _without_offsets(event.progress.json)
        with self._path.open("ab") as file:  # one write a line: two drivers that meet do not mix theirs
            file.write(line.encode() + b"\n")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to note: every progress event names its run."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to note: no micro-batch ran."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to note: the program that waits for the query gets the reason."""


def _without_offsets(text: str) -> str:
    progress: dict[str, Any] = json.loads(text)
    for source in progress.get("sources", ()):
        source.pop("startOffset", None)
        source.pop("endOffset", None)
    return json.dumps(progress, separators=(",", ":"))
