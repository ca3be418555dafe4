"""The measurements of the Spark source's benchmark, and its table."""

from __future__ import annotations

import os

from bench.proc import cpu_seconds, tree_cpu_seconds
from bench.spark.__main__ import Sample, table
from bench.spark.cases import cases


def sample(rate: float, broker_us: float, spark_us: float) -> Sample:
    return {"rate": rate, "broker_us": broker_us, "spark_us": spark_us, "batches": 3, "batch_ms": 250.0}


def test_slow_windows_read_fewer_records() -> None:
    ours = cases("shareq", {100: 1_000_000}, 10_000)
    assert [(case.source, case.locks, case.records) for case in ours] == [
        ("kafka", None, 1_000_000),
        ("kafka-share", 1_000_000, 1_000_000),
        ("kafka-share", 2_000, 10_000),
    ]
    assert [case.records for case in cases("apache", {100: 1_000_000}, 10_000)] == [1_000_000, 50_000, 10_000]


def test_only_a_share_group_has_a_group() -> None:
    spark, ours, _ = cases("shareq", {100: 10}, 10)
    assert "kafka.group.id" not in spark.options("127.0.0.1:9", "t", "g")
    assert ours.options("127.0.0.1:9", "t", "g")["kafka.group.id"] == "g"


def test_ratios_are_to_sparks_own_source_at_the_same_size() -> None:
    wanted = cases("shareq", {100: 10_000, 1000: 5_000}, 1_000)[:5]
    rates = [1000.0, 800.0, 20.0, 300.0, 330.0]
    lines = table(wanted, {case: [sample(rate, 0.5, 1.5)] * 3 for case, rate in zip(wanted, rates, strict=True)}, {})
    cells = [line.split(" | ") for line in lines.splitlines()[4:9]]
    assert [(row[1], row[3], row[4]) for row in cells] == [
        ("100B", "1,000", "1.00x"),
        ("100B", "800", "0.80x"),
        ("100B", "20", "0.02x"),
        ("1000B", "300", "1.00x"),
        ("1000B", "330", "1.10x"),
    ]


def test_cpu_of_a_process_is_part_of_that_of_its_tree() -> None:
    alone = cpu_seconds(os.getpid())
    assert tree_cpu_seconds(os.getpid()) >= alone > 0
