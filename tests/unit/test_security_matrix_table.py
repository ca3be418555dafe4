"""`docs/evidence/security-matrix.md` says what the matrix of all clients tests, no more and no less."""

from __future__ import annotations

import pytest

from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.registry import PROGRAMS
from tests.interop.support.security_matrix import (
    BROKERS,
    COLUMNS,
    DOCUMENT,
    SPARK,
    WAYS,
    everything_passes,
    headings,
    notes,
    part,
    table,
)


@pytest.mark.parametrize("kind", BROKERS)
def test_the_tables_are_what_the_suite_makes_when_everything_passes(kind: Kind) -> None:
    """Clients, their pinned versions, ways in, and what a client lacks: a change of any needs the table made again."""
    text = DOCUMENT.read_text()
    assert f"## {BROKERS[kind]}\n" in text
    assert part(text, kind) == table(kind, everything_passes(), headings())
    assert part(text, "notes") == notes()


def test_every_column_has_a_client() -> None:
    assert set(COLUMNS) == {*PROGRAMS, SPARK}
    assert len(headings()) == len(COLUMNS)


def test_what_failed_or_was_not_tried_is_no_pass() -> None:
    cells = everything_passes()
    row = next(iter(WAYS))
    cells[row, "kcat"] = "✗"
    del cells[row, "java"]
    made = table("ours", cells, headings())
    assert "✗" in made
    assert "not tried" in made
