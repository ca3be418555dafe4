"""The report: one HTML page with everything in it, for a desk and for a phone, in light and in dark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from pathlib import Path
from statistics import median
from typing import Final

from shareq.spark.report.events import COUNTERS, Batch, Mark, QueryEvents, read_events
from shareq.spark.report.scales import Span, compact, elapsed, spread
from shareq.spark.report.style import STYLE
from shareq.spark.report.svg import Bars, Flag, Line, bar_chart, column_ms, line_chart

MOST_ROWS: Final = 500

MEANINGS: Final = (
    ("lag", "records that the share group had not finished with, a second or two before the event"),
    ("acquired", "records that this query has locked now, so that no other member gets them"),
    ("redelivered", "records new to this query that had been delivered before, to whomever"),
    ("swallowed", "records that came again though they were part of an earlier micro-batch: acknowledged, not emitted"),
    ("accepted", "records acknowledged as processed; the last event does not know yet of its own micro-batch's"),
    ("rejected", "records given up because they had been delivered maxDeliveryCount times"),
    ("renewed", "locks made longer because their micro-batch took its time; each time counts"),
    ("lost", "locks that ended before their records were acknowledged: another member may have got them, too"),
    ("unconfirmed", "records of earlier micro-batches whose acknowledgement no leader has confirmed yet"),
)


def write_report(
    log: str | os.PathLike[str], out: str | os.PathLike[str], *, title: str | None = None, marks: Iterable[Mark] = ()
) -> list[QueryEvents]:
    """Read a progress log, write the page, return what was in the log. OSError when a file cannot be used."""
    with Path(log).open(encoding="utf-8", errors="replace") as lines:
        queries, unreadable = read_events(lines)
    text = page(queries, title=title or Path(log).stem, marks=list(marks), unreadable=unreadable)
    Path(out).write_text(text, encoding="utf-8")
    return queries


def page(queries: Sequence[QueryEvents], *, title: str, marks: Sequence[Mark] = (), unreadable: int = 0) -> str:
    """The whole page. `unreadable` lines of the log are reported at its end."""
    body = "".join(_query(query, marks) for query in queries) or '<p class="note">No micro-batch in this log yet.</p>'
    if unreadable:
        lines = "1 line" if unreadable == 1 else f"{unreadable} lines"
        body += f'<p class="note">{lines} of the log could not be read; a killed driver leaves half a line.</p>'
    meanings = "".join(f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in MEANINGS)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}"
        f'<section><h3>What the words mean</h3><dl class="words">{meanings}</dl></section></main></body></html>\n'
    )


def _query(query: QueryEvents, marks: Sequence[Mark]) -> str:
    span = _span(query, marks)
    flags = _flags(query, marks, span)
    return (
        f"<section><h2>{escape(query.name)}</h2>"
        f'<p class="when">{_clock(span.start_ms)} to {_clock(query.batches[-1].end_ms)} UTC, '
        f"{elapsed(span.length_ms)} long{_runs(query)}</p>"
        f"{_tiles(query)}{_legend_of(flags, span)}"
        f'<div class="charts">{_charts(query, span, flags)}</div>{_table(query, span)}</section>'
    )


def _span(query: QueryEvents, marks: Sequence[Mark]) -> Span:
    start = query.batches[0].start_ms
    end = max(batch.end_ms for batch in query.batches)
    after = [mark.at_ms for mark in marks if end < mark.at_ms <= end + 60_000]  # a kill that ended the last batch
    return Span(start, max(end, start + 1000, *after))


def _flags(query: QueryEvents, marks: Sequence[Mark], span: Span) -> list[Flag]:
    found = [(mark.at_ms, mark.text, "mark") for mark in marks if span.start_ms <= mark.at_ms <= span.end_ms]
    found += [(batch.start_ms, f"a new run, first micro-batch {batch.batch_id}", "run") for batch in query.restarts]
    return [Flag(at, number, text, kind) for number, (at, text, kind) in enumerate(sorted(found), 1)]


def _runs(query: QueryEvents) -> str:
    runs = len(query.restarts) + 1
    text = f", {runs} runs from one checkpoint" if runs > 1 else ""
    return f"{text}; micro-batches of which a killed driver reported nothing: {query.untold}" if query.untold else text


def _tiles(query: QueryEvents) -> str:
    totals = query.totals()
    has_counters = any(batch.counters for batch in query.batches)
    busy_ms = sum(batch.duration_ms for batch in query.batches)
    last = query.batches[-1]
    tiles: list[tuple[str, str, str]] = [
        ("rows", f"{query.rows:,}", ""),
        ("micro-batches", f"{len(query.batches):,}", ""),
        ("rows/s", f"{query.rows / busy_ms * 1000 if busy_ms else 0:,.0f}", "while batches ran"),
        ("ms a micro-batch", f"{median(batch.duration_ms for batch in query.batches):,.0f}", "median"),
    ]
    if has_counters:
        tiles += [(name, f"{totals[name]:,}", "") for name in COUNTERS if name != "acquired"]
        tiles.append(("unconfirmed", _or_dash(last.unconfirmed), "at the end"))
        tiles.append(("lag", _or_dash(last.lag), "at the end"))
    shown = "".join(
        f'<div class="tile"><b>{value}</b><span>{label}</span>{f"<i>{remark}</i>" if remark else ""}</div>'
        for label, value, remark in tiles
    )
    return f'<div class="tiles">{shown}</div>'


def _legend_of(flags: Sequence[Flag], span: Span) -> str:
    if not flags:
        return ""
    items = "".join(
        f'<li class="{flag.kind}"><b>{flag.number}</b> {elapsed(flag.at_ms - span.start_ms)} {escape(flag.text)}</li>'
        for flag in flags
    )
    return f'<ol class="flags">{items}</ol>'


def _charts(query: QueryEvents, span: Span, flags: Sequence[Flag]) -> str:
    batches, step = query.batches, column_ms(span)

    def rate(amounts: list[float]) -> list[float]:
        return [amount * 1000 / step for amount in amounts]

    def by_column(name: str) -> list[float]:
        return spread(((one.start_ms, one.start_ms, one.counters.get(name, 0)) for one in batches), span, step)

    rows = rate(spread(((one.start_ms, one.end_ms, one.rows) for one in batches), span, step))
    charts = [_figure("Rows per second", bar_chart([Bars("rows", "c1", rows)], span, flags, "a second"))]
    if any(one.counters for one in batches):
        lag = _line("lag", "lag", query, lambda one: one.lag)
        held = _line("acquired", "acquired", query, lambda one: one.locks_held)
        unconfirmed = _line("unconfirmed", "c4", query, lambda one: one.unconfirmed)
        again = [
            Bars("redelivered", "redelivered", by_column("redelivered")),
            Bars("swallowed", "c5", by_column("swallowed")),
        ]
        locks = [Bars("renewed", "acquired", by_column("renewed")), Bars("lost", "lost", by_column("lost"))]
        locks.append(Bars("rejected", "archived", by_column("rejected")))
        charts += [
            _figure("Lag of the share group, records", line_chart([lag], span, flags, "records")),
            _figure("Deliveries again, records", bar_chart(again, span, flags, "records"), again),
            _figure("Locks, records", line_chart([held, unconfirmed], span, flags, "records"), [held, unconfirmed]),
            _figure("Locks renewed and lost, rejections", bar_chart(locks, span, flags, "records"), locks),
        ]
    parts = [("sink and query", "c1", "addBatch"), ("acquire", "c2", "latestOffset"), ("logs and the rest", "c5", "")]
    lines = [_line(label, kind, query, partial(_phase, phase)) for label, kind, phase in parts]
    charts.append(_figure("Where the time goes, ms a micro-batch", line_chart(lines, span, flags, "ms"), lines))
    return "".join(charts)


def _line(label: str, kind: str, query: QueryEvents, value: Callable[[Batch], int | None]) -> Line:
    """Broken where one run ended and the next began: in between there was no query."""
    restarts = {id(batch) for batch in query.restarts}
    points: list[tuple[int, int | None]] = []
    for batch in query.batches:
        if id(batch) in restarts:
            points.append((batch.start_ms, None))
        points.append((batch.start_ms, value(batch)))
    return Line(label, kind, points)


def _phase(phase: str, batch: Batch) -> int:
    if phase:
        return batch.phases.get(phase, 0)
    return max(batch.duration_ms - batch.phases.get("addBatch", 0) - batch.phases.get("latestOffset", 0), 0)


def _figure(caption: str, chart: str, series: Sequence[Bars | Line] = ()) -> str:
    keys = "".join(f'<span class="key"><i class="{one.kind}"></i>{escape(one.label)}</span>' for one in series)
    return f"<figure><figcaption><b>{escape(caption)}</b>{keys}</figcaption>{chart}</figure>"


def _table(query: QueryEvents, span: Span) -> str:
    names = ("redelivered", "swallowed", "accepted", "rejected", "renewed", "lost")
    head = ("batch", "at", "ms", "rows", "lag", "locks", *names)
    shown = query.batches[-MOST_ROWS:]
    first_of_run = {id(batch) for batch in query.restarts}
    rows = []
    for batch in reversed(shown):
        counted = [f"{batch.counters[name]:,}" if batch.counters else "–" for name in names]
        cells = [f"{batch.batch_id:,}", elapsed(batch.start_ms - span.start_ms), f"{batch.duration_ms:,}"]
        cells += [f"{batch.rows:,}", _or_dash(batch.lag), _or_dash(batch.locks_held), *counted]
        kind = ' class="first"' if id(batch) in first_of_run else ""
        marked = "".join(
            f'<td class="zero">{cell}</td>' if cell in ("0", "–") else f"<td>{cell}</td>" for cell in cells
        )
        rows.append(f"<tr{kind}>{marked}</tr>")
    note = f", the last {MOST_ROWS} of {len(query.batches):,}" if len(shown) < len(query.batches) else ""
    heads = "".join(f"<th>{name}</th>" for name in head)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return (
        f'<details><summary>Micro-batches{note}, the newest first</summary><div class="scroll">{table}</div></details>'
    )


def _or_dash(value: int | None) -> str:
    return "–" if value is None else (f"{value:,}" if abs(value) < 10_000_000 else compact(value))


def _clock(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
