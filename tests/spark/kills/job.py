"""The driver of a query whose processes are killed: `python -m tests.spark.kills.job HOST:PORT FOLDER`.

It connects to the harness and carries out its orders, a line of JSON each way, so one session serves many cells.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.kills.gate import show
from tests.spark.kills.ledger import Row, content_hash
from tests.spark.kills.source import KillSource
from tests.spark.support.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Driver:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._query: StreamingQuery | None = None

    def start(self, options: Mapping[str, str], checkpoint: str, sink: str, gate: str, available_now: bool) -> None:
        rows = self._spark.readStream.format(KillSource.name()).options(**options, killGate=gate).load()
        trigger = {"availableNow": True} if available_now else {"processingTime": "0 seconds"}
        self._query = (
            rows.select("partition", "offset", "value")
            .writeStream.option("checkpointLocation", checkpoint)
            .foreachBatch(_writer(Path(sink), gate))
            .trigger(**trigger)
            .start()
        )

    def status(self) -> dict[str, object]:
        """Return whether the query runs, and the first line of what ended it."""
        query = self._query
        if query is None:
            return {"active": False, "error": None}
        active = query.isActive
        error = None if active else query.exception()
        return {"active": active, "error": None if error is None else _reason(str(error))}

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()


def _writer(sink: Path, gate: str) -> Callable[[DataFrame, int], None]:
    def write(frame: DataFrame, batch_id: int) -> None:
        rows = [Row(row.partition, row.offset, int(row.value)) for row in frame.collect()]
        if not rows:
            return
        text = json.dumps({"batch": batch_id, "hash": content_hash(rows), "rows": rows})
        # Names in the order of time, one for each attempt; the file is there as a whole or not at all.
        name = f"{time.time_ns()}-{batch_id:06d}-{uuid.uuid4().hex[:6]}"
        partial = sink / f"{name}.partial"
        with partial.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(sink / f"{name}.json")
        show(gate, "sink-written", batch=batch_id)

    return write


def _reason(text: str) -> str:
    """Return the line that names an exception's cause: the last one with a Python error, otherwise the first line."""
    text = re.sub(r"Query \[id = [^]]*\] ", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (causes[-1] if causes else lines[0] if lines else "")[:300]


def main(harness: str, folder: str) -> None:
    host, _, port = harness.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        spark = open_session(Path(folder))
        spark.dataSource.register(KillSource)
        driver = Driver(spark)
        lines = connection.makefile("r")
        connection.sendall(b'{"ready": true}\n')
        for line in lines:
            connection.sendall(json.dumps(_obey(driver, json.loads(line))).encode() + b"\n")
        spark.stop()


def _obey(driver: Driver, order: dict[str, Any]) -> dict[str, object]:
    name = order.pop("do")
    try:
        return {"ok": getattr(driver, name)(**order)}
    except Exception as error:  # the harness decides what it means; after a kill of the JVM it means nothing
        return {"failed": f"{type(error).__name__}: {_reason(str(error))}"}


if __name__ == "__main__":
    main(*sys.argv[1:])
