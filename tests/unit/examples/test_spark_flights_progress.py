"""Progress events of the Spark demo: rows of all runs, and the counters of each run's last event."""

from __future__ import annotations

import json

from examples.spark_flights.progress import read_progress


def event(name: str, run: str, rows: int, swallowed: int | None = None, phase: str = "addBatch") -> str:
    offset = None if swallowed is None else {"lag": None, "total": {"swallowed": swallowed}}
    sources = [{"description": "Python", "latestOffset": offset}]
    return json.dumps(
        {"name": name, "runId": run, "numInputRows": rows, "durationMs": {phase: 300}, "sources": sources}
    )


def test_rows_count_in_all_runs_and_counters_by_the_last_event_of_each() -> None:
    lines = [
        event("departures", "run-1", 100, 2),
        event("carriers", "run-a", 7),
        event("departures", "run-1", 50, 3),
        event("departures", "run-2", 30, 4),
        event("departures", "run-2", 0, 9, phase="latestOffset"),
    ]
    found = read_progress(lines)
    assert {name: query.rows for name, query in found.items()} == {"departures": 180, "carriers": 7}
    assert found["departures"].total("swallowed") == 7
    assert found["carriers"].total("swallowed") == 0


def test_half_a_line_of_a_killed_driver_is_passed_over() -> None:
    whole = event("departures", "run-1", 100, 2)
    assert read_progress([whole[:40], whole, ""])["departures"].rows == 100
