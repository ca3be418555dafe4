"""Micro-batches by the tasks of the sink, as Spark runs them: `sink_writer BOOTSTRAP TOPIC FOLDER BATCHES`.

FOLDER/commits has a line for each batch that is done. A batch that has no line is written again with all its tasks, as
Spark does. Values are `batch-task-number`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from shareq.spark.sink import task
from shareq.spark.sink.options import SinkOptions

TASKS = 3


def values(batch: int, number: int) -> list[str]:
    """Return a task's rows; now and then there are none."""
    return [f"{batch}-{number}-{row}" for row in range((batch * 7 + number * 5) % 40)]


def main(bootstrap: str, topic: str, folder: Path, batches: int) -> None:
    options = SinkOptions.parse({"kafka.bootstrap.servers": bootstrap, "topic": topic}, streaming=True)
    log = folder / "commits"
    done = len(log.read_text().splitlines()) if log.exists() else 0
    for batch in range(done, batches):
        version = task.Version(topic, batch)
        parts = []
        for number in range(TASKS):
            rows = pa.record_batch({"value": pa.array(values(batch, number), pa.string())})
            parts.append(task.write([rows], options, version, number))
        task.commit(options, version, parts)
        with log.open("a") as file:
            file.write(f"{batch}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
