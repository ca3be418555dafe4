"""`make demo-cluster` without Java, on invented flights: a node and the cluster's broker are killed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from examples.cluster_flights.__main__ import main
from examples.flights_demo import flights

FLIGHTS = 6_000


def test_the_demo_with_fewer_flights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, picture = tmp_path / "flights.csv.zip", tmp_path / "picture.svg"
    with zipfile.ZipFile(archive, "w") as made_up:
        made_up.writestr("flights.csv", "".join(f"2013,1,1,{number}\n" for number in range(-1, FLIGHTS)))
    monkeypatch.setattr(flights, "ARCHIVE", archive)
    code = main(["--cluster=ours", "--within=240", f"--picture={picture}"])
    said, errors = capsys.readouterr()
    assert code == 0, said + errors
    assert re.search(r"node 100000[12] killed with SIGKILL after [\d,]+ confirmed", said)
    assert "the cluster's broker killed with SIGKILL" in said
    books = dict(re.findall(r"^ +(\S.*?)  +([\d,]+)$", said, re.MULTILINE))
    assert books["flights produced"] == f"{FLIGHTS:,}"
    for label in ("open, as the cluster has it", "lost", "delivered again after a confirmed ack"):
        assert books[label] == "0"
    assert f"of {FLIGHTS:,} records confirmed" in picture.read_text()
