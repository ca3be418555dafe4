from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from tests.support.file_order import LONGEST, in_order

ROOT = Path(__file__).resolve().parents[3]
UNITS = [f"tests/unit/test_{number}.py" for number in range(10)]
WIRE = [f"tests/wire/test_{number}.py" for number in range(4)]


def test_every_file_comes_once() -> None:
    files = [*WIRE, LONGEST[0], *UNITS]
    assert sorted(in_order(files)) == sorted(files)


def test_the_longest_come_first_in_their_order() -> None:
    assert in_order([*UNITS, LONGEST[1], LONGEST[0]])[:2] == [LONGEST[0], LONGEST[1]]


def test_those_that_wait_are_spread_and_none_is_among_the_last() -> None:
    order = in_order([*WIRE, *UNITS])
    places = [order.index(file) for file in WIRE]
    assert all(2 <= later - earlier <= 4 for earlier, later in pairwise(places))
    assert order[-2:] == UNITS[-2:]


def test_names_in_the_list_are_of_files_that_exist() -> None:
    assert [name for name in LONGEST if not (ROOT / name).exists()] == []
