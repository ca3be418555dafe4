"""One quick round of `make moving`, from shareq to shareq, with made-up flights and nothing killed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from examples.flights_demo import flights
from tests.campaign.moving.campaign import rounds
from tests.campaign.moving.cells import CELLS, WAYS

pytestmark = pytest.mark.crash
RECORDS = 600


def test_a_round_without_kills_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "flights.csv.zip"
    with zipfile.ZipFile(archive, "w") as made_up:
        made_up.writestr("flights.csv", "".join(f"2013,1,1,{number}\n" for number in range(-1, RECORDS)))
    monkeypatch.setattr(flights, "ARCHIVE", archive)
    (row,) = rounds(WAYS["one machine to one machine"], 1, [(CELLS["flights"], 1)], RECORDS)
    assert row.broken == []
    assert (row.records, row.lost, row.again, row.unlike, row.unknown) == (RECORDS, 0, 0, 0, 0)
    assert RECORDS // 2 <= row.drained < RECORDS
    assert row.cut_over_s is not None
