"""`docs/evidence/security-matrix.md` lists exactly what the matrix of all clients tests."""

from __future__ import annotations

from tests.interop.support.clients.registry import PROGRAMS
from tests.interop.support.security_matrix import (
    BEGIN,
    BROKERS,
    COLUMNS,
    DOCUMENT,
    END,
    SPARK,
    WAYS,
    Results,
    everything_passes,
    headings,
    lines,
    results,
)


def test_the_results_are_what_the_suite_makes_when_everything_passes() -> None:
    """A change of clients, their pinned versions, login methods or known gaps needs new results."""
    assert results() == Results(headings(), {kind: everything_passes() for kind in BROKERS})


def test_the_table_is_made_of_the_results() -> None:
    text = DOCUMENT.read_text()
    assert text[text.index(BEGIN) : text.index(END)] == "\n".join([BEGIN, *lines(results()), ""])


def test_every_column_has_a_client() -> None:
    assert set(COLUMNS) == {*PROGRAMS, SPARK}
    assert len(headings()) == len(COLUMNS)


def test_what_failed_or_was_not_tried_is_no_pass() -> None:
    cells = everything_passes()
    rows = list(WAYS)
    cells[rows[1], "java"] = "✗"
    del cells[rows[2], "java"]
    made = lines(Results(headings(), {"ours": cells, "apache": everything_passes()}))
    assert f"| {headings()[0]} | p c s; ✗: SSL; not tried: SSL/client certificate | p c s |" in made
