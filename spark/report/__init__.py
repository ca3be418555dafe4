"""A picture of a query from its progress events: `python -m shareq.spark.report progress.jsonl -o report.html`.

    from shareq.spark.report import ProgressLog
    spark.streams.addListener(ProgressLog("progress.jsonl"))

writes the events, one a line; `write_report` and `text_chart` show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shareq.spark.report.events import Mark, QueryEvents, read_events
from shareq.spark.report.page import page, write_report
from shareq.spark.report.text import text_chart

if TYPE_CHECKING:
    from shareq.spark.report.log import ProgressLog

__all__ = ["Mark", "ProgressLog", "QueryEvents", "page", "read_events", "text_chart", "write_report"]


def __getattr__(name: str) -> object:
    """ProgressLog alone needs PySpark; a report can be made where there is none."""
    if name == "ProgressLog":
        from shareq.spark.report.log import ProgressLog

        return ProgressLog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
