"""A job that streams Spark's own rate source until it is killed: `rate_job FOLDER`; a file for each micro-batch."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.support.session import open_session


def main(folder: Path) -> None:
    spark = open_session(folder)

    def done(_: object, batch_id: int) -> None:
        (folder / f"batch-{batch_id}").touch()

    rows = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    rows.writeStream.option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(
        done
    ).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
