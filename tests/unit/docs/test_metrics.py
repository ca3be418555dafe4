"""docs/metrics.md and the reference cover all of Apache Kafka's metrics of groups and transactions."""

from __future__ import annotations

import re
from pathlib import Path

from scripts import reference
from shareq.broker.metrics import data_folder
from shareq.broker.metrics.family import Family, Kind
from shareq.cluster.node import metrics as node
from tests.support.each import for_each

FAMILIES = tuple({family.name: family for family in (*data_folder.FAMILIES, *node.FAMILIES)}.values())
DOCS = Path(__file__).resolve().parents[3] / "docs"
TEXT = (DOCS / "metrics.md").read_text()
REFERENCE = reference.site_pages()["metrics.md"]

# Apache Kafka 4.4.0: the metrics that came with share groups, those of the coordinators and of their runtime.
KAFKA_METRICS = re.findall(
    r"\S+",
    """
    group-count share-group-count share-group-rebalance-rate share-group-rebalance-count
    consumer-group-count consumer-group-rebalance-rate consumer-group-rebalance-count
    group-completed-rebalance-rate group-completed-rebalance-count
    streams-group-count streams-group-rebalance-rate streams-group-rebalance-count
    classic-group-count offset-count streams-group-topology-description
    DeadLetterQueueRecordCount DeadLetterQueueTotalProduceRequestsPerSec DeadLetterQueueFailedProduceRequestsPerSec
    offset-commit-rate offset-commit-count offset-expiration-rate offset-expiration-count
    offset-deletion-rate offset-deletion-count
    NumGroups NumOffsets NumGroupsPreparingRebalance NumGroupsCompletingRebalance NumGroupsStable NumGroupsDead
    NumGroupsEmpty
    UnknownDestinationQueueSize LogAppendRetryQueueSize
    ProducerIdCount PartitionsWithLateTransactionsCount LastStableOffsetLag
    write-rate write-total write-latency-avg write-latency-max last-pruned-offset
    num-partitions partition-load-time-max partition-load-time-avg thread-idle-ratio-avg
    event-queue-size event-queue-time-ms event-processing-time-ms event-purgatory-time-ms
    batch-linger-time-ms batch-flush-time-ms batch-flush-rate
    batch-buffer-cache-size-bytes batch-buffer-cache-discard-count
    background-queue-time-ms background-processing-time-ms background-thread-idle-ratio-avg
    RecordAcknowledgementsPerSec PartitionLoadTimeMs RequestTopicPartitionsFetchRatio TopicPartitionsAcquireTimeMs
    InFlightMessageCount InFlightBatchCount InFlightBatchMessageCount AcquisitionLockTimeoutPerSec
    FetchLockTimeMs FetchLockRatio
    ShareSessionsCount SharePartitionsCount ShareSessionEvictionsPerSec
    TotalShareFetchRequestsPerSec FailedShareFetchRequestsPerSec
    TotalShareAcknowledgementRequestsPerSec FailedShareAcknowledgementRequestsPerSec ExpiresPerSec
    """,
)


EXPOSED = {family.name for family in FAMILIES}
NAMED = r"\b(?:shareq|kafka)_\w+"


def test_every_metric_is_in_the_reference() -> None:
    listed = re.findall(r"^\* `(\w+)(?:\{([\w,]+)\})?`(?: \((\w+)\))?: \S", REFERENCE, re.MULTILINE)
    marked = {Kind.HISTOGRAM, Kind.SUMMARY}
    assert sorted(listed) == sorted(
        (each.name, ",".join(each.labels), each.kind.value if each.kind in marked else "") for each in FAMILIES
    )


def test_what_is_not_apache_kafkas_has_a_name_that_says_so() -> None:
    assert {name.partition("_")[0] for name in EXPOSED} == {"kafka", "shareq"}


def by_the_rule(name: str) -> set[str]:
    """Return the endings that a name of Apache Kafka's may have here, where rates and counts are counters."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    base = re.sub(r"_(?:per_sec|rate|count|total|ms|avg)$", "", snake)
    base = re.sub(r"_max$", "_max_seconds", base)
    return {snake, base, f"{base}_total", f"{base}_seconds"}


@for_each("name", KAFKA_METRICS)
def test_every_metric_of_groups_and_transactions_is_there_or_the_reason_why_not(name: str) -> None:
    ends = tuple(f"_{end}" for end in by_the_rule(name))
    said = [line.split("|")[1] for line in TEXT.splitlines() if line.count("|") == 3]
    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    assert any(each.startswith("kafka_") and each.endswith(ends) for each in EXPOSED) or any(map(pattern.search, said))


def test_metrics_that_the_page_names_exist() -> None:
    exposed = EXPOSED | {f"{name}{suffix}" for name in EXPOSED for suffix in ("_sum", "_count", "_bucket")}
    named = {name for name in re.findall(NAMED, TEXT) if not name.endswith("_")}  # shareq_node_*: a beginning
    assert len(named) > 30
    assert named <= exposed


@for_each("family", FAMILIES)
def test_names_follow_prometheus(family: Family) -> None:
    assert re.fullmatch(r"(kafka|shareq)_[a-z][a-z0-9_]*", family.name)
    assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert not family.name.endswith(("_ms", "_millis"))
    assert len(set(family.labels)) == len(family.labels)
