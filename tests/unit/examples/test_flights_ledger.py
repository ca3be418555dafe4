from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.flights_demo.ledger import ACCEPT, REJECT, RELEASE, Ledger


class Journals:
    """Journal files of several consumers, written entry by entry; partition 0, offset = row."""

    def __init__(self, folder: Path, consumers: int) -> None:
        self.paths = [folder / f"{number}.jsonl" for number in range(consumers)]

    def got(self, consumer: int, t: int, row: int, verdict: int, count: int = 1) -> None:
        self._write(consumer, {"t": t, "got": [[0, row, row, count, verdict]]})

    def acked(self, consumer: int, t: int, first: int, last: int, error: str | None = None) -> None:
        self._write(consumer, {"t": t, "acked": {"0": [[first, last]]}, "error": error})

    def _write(self, consumer: int, entry: dict[str, object]) -> None:
        with self.paths[consumer].open("a") as journal:
            journal.write(json.dumps(entry) + "\n")


@pytest.fixture
def journals(tmp_path: Path) -> Journals:
    return Journals(tmp_path, 2)


def test_accepted_rejected_and_released_once(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=3)
    journals.got(0, 1, 0, ACCEPT)
    journals.got(0, 1, 1, REJECT)
    journals.got(0, 1, 2, RELEASE)
    journals.acked(0, 2, 0, 2)
    ledger.read()
    assert ledger.settled == 2
    journals.got(1, 3, 2, ACCEPT, count=2)
    journals.acked(1, 4, 2, 2)
    ledger.read()
    totals = ledger.totals()
    assert (totals.delivered, totals.redelivered) == (4, 1)
    assert (totals.accepted, totals.rejected, totals.released) == (2, 1, 1)
    assert (totals.lost, totals.again_after_confirmed, totals.unknown) == (0, 0, 0)


def test_ack_cut_off_is_unknown_and_its_record_may_come_again(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=2)
    for row in (0, 1):
        journals.got(0, 1, row, ACCEPT)
    journals.acked(0, 2, 0, 1, error="NOT_LEADER_FOR_PARTITION")
    journals.got(1, 3, 0, ACCEPT)
    journals.acked(1, 4, 0, 0)
    ledger.read()
    totals = ledger.totals()
    assert (totals.unknown, totals.unknown_back) == (2, 1)
    assert (totals.lost, totals.again_after_confirmed) == (0, 0)


def test_delivery_after_a_confirmed_accept_is_reported_for_every_member(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=1)
    journals.got(0, 1, 0, ACCEPT)
    journals.acked(0, 2, 0, 0)
    ledger.read()
    journals.got(1, 3, 0, ACCEPT)
    ledger.read()
    assert ledger.totals().again_after_confirmed == 1


def test_a_delivery_before_the_confirmation_is_no_fault_when_its_journal_is_read_later(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=1)
    journals.got(0, 5, 0, ACCEPT)
    journals.acked(0, 6, 0, 0)
    ledger.read()
    journals.got(1, 1, 0, RELEASE)
    journals.acked(1, 2, 0, 0)
    ledger.read()
    assert ledger.totals().again_after_confirmed == 0


def test_a_record_nobody_got_and_one_released_for_good_are_lost(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=2)
    journals.got(0, 1, 1, RELEASE)
    journals.acked(0, 2, 1, 1)
    ledger.read()
    assert ledger.totals().lost == 2


def test_half_a_line_waits_for_its_end(journals: Journals) -> None:
    ledger = Ledger(journals.paths, rows=1)
    line = json.dumps({"t": 1, "got": [[0, 0, 0, 1, int(ACCEPT)]]}) + "\n"
    journals.paths[0].write_text(line[:10])
    ledger.read()
    assert not ledger.deliveries
    journals.paths[0].write_text(line)
    ledger.read()
    assert len(ledger.deliveries) == 1
