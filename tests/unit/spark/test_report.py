"""The report: events read back, and what the page and the terminal show of them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from shareq.client.state_colours import LINES, Figure
from shareq.spark.report import Mark, page, read_events, text_chart, write_report
from shareq.spark.report.__main__ import main
from shareq.spark.report.events import COUNTERS
from shareq.spark.report.page import MOST_ROWS
from shareq.spark.report.scales import Span, compact, elapsed, spread, thinned, time_ticks, value_ticks

START_MS = 1_793_000_000_000


def event(
    batch_id: int,
    at_s: float,
    *,
    rows: int = 100,
    run: str = "run-1",
    query: str = "q-1",
    name: str | None = "flights",
    reported: dict[str, object] | None = None,
    phases: dict[str, int] | None = None,
) -> str:
    """One line, as Spark writes it."""
    at = datetime.fromtimestamp(START_MS / 1000 + at_s, UTC)
    return json.dumps(
        {
            "id": query,
            "runId": run,
            "name": name,
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            "batchId": batch_id,
            "numInputRows": rows,
            "durationMs": phases or {"addBatch": 300, "latestOffset": 100, "triggerExecution": 500},
            "sources": [{"description": "Python", "latestOffset": reported, "numInputRows": rows}],
        }
    )


def reported(lag: int | None = 1000, held: int = 100, **counted: int) -> dict[str, object]:
    """What the source reports; the totals are three times what was counted."""
    counters = {name: counted.get(name, 0) for name in COUNTERS}
    total = {name: value * 3 for name, value in counters.items()}
    return {"lag": lag, "locksHeld": held, "unconfirmed": 0, **counters, "total": total}


def test_events_of_a_query_over_its_runs() -> None:
    lines = [
        event(0, 0, reported=reported(accepted=5)),
        event(1, 1, reported=reported(lag=None, accepted=7, swallowed=2)),
        event(1, 9, run="run-2", reported=reported(accepted=4)),
    ]
    (query,), unreadable = read_events(lines)
    assert (query.name, query.rows, unreadable) == ("flights", 300, 0)
    assert [batch.start_ms - START_MS for batch in query.batches] == [0, 1000, 9000]
    assert [batch.lag for batch in query.batches] == [1000, None, 1000]
    assert [batch.run for batch in query.restarts] == ["run-2"]
    assert query.totals()["accepted"] == 21 + 12  # the last event of each run
    assert query.totals()["swallowed"] == 6


def test_a_batch_that_a_killed_driver_did_not_report() -> None:
    """Its rows are in the sink, and not in the report."""
    (query,), _ = read_events([event(0, 0), event(1, 1), event(3, 9, run="run-2")])
    assert query.untold == 1
    assert "reported nothing: 1" in page([query], title="t")
    (query,), _ = read_events([event(4, 0), event(5, 1)])
    assert query.untold == 0
    assert "reported nothing" not in page([query], title="t")


def test_half_a_line_and_lines_of_others_are_counted_and_passed_over() -> None:
    lines = [event(0, 0), "", event(1, 1)[:50], "[]", '{"durationMs": 1}', "null", "[" * 100_000]
    (query,), unreadable = read_events(lines)
    assert len(query.batches) == 1
    assert unreadable == 5


def test_an_event_without_a_batch_is_no_batch() -> None:
    idle = event(1, 1, rows=0, phases={"latestOffset": 500, "triggerExecution": 500})
    (query,), _ = read_events([event(0, 0), idle])
    assert len(query.batches) == 1
    assert read_events([idle]) == ([], 0)


def test_another_source_beside_ours_counts_its_rows_alone() -> None:
    """Its latestOffset may be anything."""
    line = json.loads(event(0, 0, reported=reported(accepted=1)))
    line["sources"] += [{"latestOffset": 17}, {"latestOffset": {"flights": {"0": 5}}}, {"latestOffset": None}]
    (query,), unreadable = read_events([json.dumps(line)])
    assert unreadable == 0
    assert query.batches[0].counters["accepted"] == 1
    (other,), _ = read_events([event(0, 0, reported=None)])
    assert other.batches[0].locks_held is None
    assert other.batches[0].counters == {}


class Tags(HTMLParser):
    """Checks that every element that is opened is closed, and keeps what leads out of the page."""

    VOID = ("meta", "link", "br", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.names: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.outside += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "title"):
            self.text += data + " "


def test_the_page_is_whole_and_asks_nothing_of_the_network() -> None:
    lines = [event(number, number, reported=reported(redelivered=number, accepted=9)) for number in range(5)]
    queries, _ = read_events(
        [*lines, event(5, 20, run="run-2", reported=reported()), event(0, 3, query="q-2", name=None)]
    )
    text = page(queries, title="a & b", marks=[Mark(START_MS + 2000, "broker <killed>")])
    tags = Tags(text)
    assert tags.outside == []
    assert "url(" not in text
    assert "@import" not in text
    assert "script" not in tags.names
    assert tags.names.count("svg") == 6 + 2  # the second query reports no share group
    assert "a & b" in tags.text
    assert "q-2" in tags.text
    assert "<killed>" not in text
    assert "2 runs from one checkpoint" in tags.text
    assert "a new run, first micro-batch 5" in tags.text


def test_the_words_are_the_counters() -> None:
    """A new counter needs a line that says what it means."""
    (query,), _ = read_events([event(0, 0, reported=reported())])
    tags = Tags(page([query], title="t"))
    for name in COUNTERS:
        if name != "acquired":
            assert re.search(rf"\b{name}\b", tags.text)


def test_numbers_that_are_no_numbers_do_not_get_into_the_picture() -> None:
    """One batch, no rows, no time: nothing divides by zero."""
    phases = {"addBatch": 0, "triggerExecution": 0}
    (query,), _ = read_events([event(0, 0, rows=0, reported=reported(lag=0, held=0), phases=phases)])
    text = page([query], title="t")
    assert re.search(r'="[^"]*(nan|inf)', text) is None
    assert "no micro-batch" in page([], title="t").lower()


def test_a_long_log_stays_a_small_page() -> None:
    queries, _ = read_events([event(number, number * 2.0, reported=reported()) for number in range(20_000)])
    text = page(queries, title="t")
    assert text.count("<tr") == MOST_ROWS + 1
    assert len(text) < 600_000


def test_rows_are_spread_over_the_time_of_their_batch() -> None:
    span = Span(START_MS, START_MS + 4000)
    pieces = [(START_MS + 500, START_MS + 2500, 200.0), (START_MS + 3000, START_MS + 3000, 7.0)]
    assert spread(pieces, span, 1000) == [50.0, 100.0, 50.0, 7.0]
    assert sum(spread([(START_MS - 1000, START_MS + 9000, 100.0)], span, 1000)) <= 100.0


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [(0, [0, 1]), (1, [0, 0.25, 0.5, 0.75, 1]), (13_600, [0, 5000, 10_000, 15_000]), (8, [0, 2, 4, 6, 8])],
)
def test_ticks_are_round_and_reach_the_highest(highest: float, ticks: list[float]) -> None:
    assert value_ticks(highest) == ticks


def test_labels_of_numbers_and_times() -> None:
    assert [compact(value) for value in (0, 0.25, 950, 1000, 1234, 99_960, 336_776, 2_000_000)] == [
        *("0", "0.25", "950", "1k", "1.2k", "100k", "337k", "2M")
    ]
    assert [elapsed(ms) for ms in (0, 65_000, 3_600_000, 200_000_000)] == ["0:00", "1:05", "1:00:00", "2d 7h"]
    assert time_ticks(Span(START_MS, START_MS + 45_000)) == [0, 10_000, 20_000, 30_000, 40_000]


def test_thinned_points_keep_the_highest() -> None:
    points = [(number, float(number % 10)) for number in range(1000)]
    few = thinned(points, 100)
    assert len(few) == 100
    assert {value for _, value in few} == {9.0}


def test_the_chart_of_the_terminal() -> None:
    (query,), _ = read_events([event(0, 0, rows=1000), event(1, 8, rows=500, run="run-2")])
    drawn = text_chart(query, marks=[Mark(START_MS + 4000, "broker killed")], width=17, height=2).splitlines()
    assert drawn == [
        "flights: rows per second",
        "     2k │█",
        "        │█               █",
        "      0 └─────────────────",
        "                A",
        "         0:00         0:08",
        "         A 0:04 broker killed",
    ]


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "progress.jsonl"
    log.write_text(event(0, 0, reported=reported()) + "\n")
    assert main([str(log), "--mark", "2026-10-26T06:13:20Z=broker killed"]) == 0
    assert "1 queries, 1 micro-batches" in capsys.readouterr().out
    assert (tmp_path / "progress.html").read_text().startswith("<!doctype html>")
    assert main([str(log), "--text"]) == 0
    assert "rows per second" in capsys.readouterr().out
    assert main([str(tmp_path / "nothing")]) == 1
    assert main(["."]) == 1  # a folder, of which no name can be made
    assert "No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(log), "--mark", "noon=lunch"])
    assert "is no ISO time" in capsys.readouterr().err


def test_write_report_answers_what_it_read(tmp_path: Path) -> None:
    log = tmp_path / "progress.jsonl"
    log.write_text(event(0, 0, reported=reported()) + "\n" + event(1, 1)[:20])
    (query,) = write_report(log, tmp_path / "out.html")
    assert query.rows == 100
    assert "1 line of the log could not be read" in (tmp_path / "out.html").read_text()


def test_charts_have_the_colours_and_names_of_the_console() -> None:
    lines = [event(at, at, reported=reported(redelivered=3, lost=2, rejected=1)) for at in range(3)]
    text = page(read_events(lines)[0], title="t")
    assert "locks held" not in text
    figures: tuple[Figure, ...] = ("lag", "acquired", "redelivered", "lost", "archived")
    for figure in figures:
        tone = LINES[figure].tone
        assert f".{figure}{{--c:light-dark({tone.light},{tone.dark})}}" in text
        assert f'class="{figure}"' in text
    assert '<i class="acquired"></i>acquired' in text
