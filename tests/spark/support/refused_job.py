"""A job whose login is refused: `refused_job OPTIONS.json FOLDER`. Spark logs everything from INFO on.

The query's error is raised as in any user's program, into the same output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.spark.support.session import open_session


def main(options: dict[str, str], folder: Path) -> None:
    spark = open_session(folder, spark__log__level="INFO")
    rows = spark.readStream.format("kafka-share").options(**options).load()
    rows.explain(True)
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(90)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
