from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from bench.fresh_brokers import MOST_GROWTH_MB, Column, Look, faults_of, left_behind

FIRST = Look(100, descriptors=9, threads=2, children=1, resident_mb=42.0)
LAST = replace(FIRST, brokers=1000)


def column(last: Look = LAST, process: str = "test") -> Column:
    return Column("process", [30.0, 40.0, 90.0], [50.0], 10.0, 2.0, {process: [FIRST, last]})


def test_what_is_within_its_bounds_is_fine() -> None:
    assert faults_of(column()) == []
    assert faults_of(column(replace(LAST, descriptors=8, resident_mb=FIRST.resident_mb + MOST_GROWTH_MB))) == []
    assert faults_of(Column("Apache Kafka 4.4.0", [2000.0], [3000.0])) == []


@pytest.mark.parametrize("name", ["descriptors", "threads", "children"])
@pytest.mark.parametrize("process", ["test", "nursery"])
def test_one_more_of_anything_is_too_many(name: str, process: str) -> None:
    before = getattr(FIRST, name)
    (fault,) = faults_of(column(replace(LAST, **{name: before + 1}), process))
    assert fault == f"process: {process}: {name} grew from {before} to {before + 1}"


def test_memory_may_grow_so_far() -> None:
    (fault,) = faults_of(column(replace(LAST, resident_mb=46.1)))
    assert fault == "process: test: memory grew from 42.0 to 46.1 MB, by more than 4"


@pytest.mark.parametrize(("mode", "most_ms"), [("thread", 50), ("process", 150)])
def test_the_median_of_starts_has_a_bound(mode: str, most_ms: int) -> None:
    assert faults_of(Column(mode, [1.0, most_ms, 10_000.0])) == []
    (fault,) = faults_of(Column(mode, [1.0, most_ms + 1, 10_000.0]))
    assert fault == f"{mode}: a start took {most_ms + 1} ms, more than {most_ms}"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_both_processes_are_looked_at() -> None:
    looks = left_behind("process", 2)
    assert sorted(looks) == ["nursery", "test"]
    assert [each.brokers for each in looks["nursery"]] == [1, 2]
    assert looks["nursery"][-1].children == 0
    assert looks["nursery"][-1].resident_mb > 1
