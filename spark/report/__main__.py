"""`python -m shareq.spark.report progress.jsonl [-o report.html] [--text]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shareq.spark.report.events import Mark, parse_time, read_events
from shareq.spark.report.page import write_report
from shareq.spark.report.text import text_chart


def main(arguments: list[str] | None = None) -> int:
    """0, or 1 and one line when a file cannot be read or written."""
    options = _parser().parse_args(arguments)
    try:
        if options.text:
            queries, _ = read_events(options.log.read_text(encoding="utf-8", errors="replace").splitlines())
            print("\n\n".join(text_chart(query, marks=options.mark) for query in queries) or "no micro-batch yet")
            return 0
        out = options.output or options.log.parent / f"{options.log.stem}.html"
        queries = write_report(options.log, out, title=options.title, marks=options.mark)
    except OSError as error:
        print(f"report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{out}: {len(queries)} queries, {sum(len(query.batches) for query in queries)} micro-batches")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shareq.spark.report",
        description="A picture of a Spark query from the progress events that shareq.spark.report.ProgressLog wrote.",
    )
    parser.add_argument("log", type=Path, help="JSON lines, one StreamingQueryProgress.json each")
    parser.add_argument("-o", "--output", type=Path, help="where the page goes (default: beside the log, .html)")
    parser.add_argument("--title", help="the page's title (default: the name of the log)")
    parser.add_argument(
        "--mark", type=_mark, action="append", default=[], metavar="TIME=TEXT", help="what else happened, ISO time, UTC"
    )
    parser.add_argument("--text", action="store_true", help="rows per second for a terminal instead of the page")
    return parser


def _mark(text: str) -> Mark:
    when, _, label = text.partition("=")
    try:
        return Mark(parse_time(when), label or when)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{when!r} is no ISO time, as 2026-01-31T12:00:00Z is") from None


if __name__ == "__main__":
    sys.exit(main())
