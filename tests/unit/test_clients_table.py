"""`docs/evidence/clients.md` lists exactly what the suite of all clients tests."""

from __future__ import annotations

from tests.interop.support.clients.features import (
    BEGIN,
    COMPRESSIONS,
    DOCUMENT,
    END,
    FEATURES,
    LACKING,
    MECHANISMS,
    clients,
    everything_passes,
    table,
)
from tests.interop.support.clients.registry import CLIENTS
from tests.interop.test_every_client import CHECKS


def test_the_table_is_what_the_suite_makes_when_everything_passes() -> None:
    """A change of clients, their pinned versions, features or known gaps needs a new table."""
    text = DOCUMENT.read_text()
    assert text[text.index(BEGIN) : text.index(END) + len(END)] == table(everything_passes())


def test_every_column_has_a_client_and_every_row_a_check() -> None:
    assert list(clients()) == list(CLIENTS)
    assert set(FEATURES) == {*CHECKS, *COMPRESSIONS, *MECHANISMS}


def test_what_is_lacking_is_of_the_table() -> None:
    assert {client for client, _ in LACKING} <= set(clients())
    assert {feature for _, feature in LACKING} <= set(FEATURES)


def test_what_was_not_tested_or_failed_is_no_pass() -> None:
    outcome = everything_passes()
    outcome["kcat", "fetch"] = "fails"
    del outcome["java", "share_group"]
    made = table(outcome)
    assert made != table(everything_passes())
    assert "fails" in made
    assert "not tested" in made
