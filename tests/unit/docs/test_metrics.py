"""docs/metrics.md and the metrics say the same, and leave out nothing Apache Kafka has of groups and transactions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from shareq.broker.metrics import data_folder
from shareq.broker.metrics.family import Family, Kind
from shareq.cluster.node import metrics as node
from tests.support.each import for_each

FAMILIES = tuple({family.name: family for family in (*data_folder.FAMILIES, *node.FAMILIES)}.values())
TEXT = (Path(__file__).resolve().parents[3] / "docs" / "metrics.md").read_text()

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


class Row(NamedTuple):
    """One metric, as a table of the document has it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    kafka: str
    meaning: str


def rows() -> list[Row]:
    found = []
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            labels = tuple(re.findall(r"`(\w+)`", cells[2]))
            found.append(Row(cells[0].strip("`"), cells[1], labels, cells[3], cells[4]))
    return found


def test_every_metric_is_in_the_document_as_it_is() -> None:
    documented = {row.name: (row.kind, row.labels) for row in rows()}
    assert len(documented) == len(rows()), "a metric has two rows"
    assert documented == {family.name: (family.kind.value, family.labels) for family in FAMILIES}


def test_every_row_says_what_it_means_and_where_it_comes_from() -> None:
    for row in rows():
        assert row.meaning, row.name
        assert bool(row.kafka) or row.name.startswith("shareq_"), f"{row.name} is Apache Kafka's by its name"


@for_each("name", KAFKA_METRICS)
def test_every_metric_of_groups_and_transactions_is_there_or_the_reason_why_not(name: str) -> None:
    kafka_columns = [line.split("|")[4] for line in TEXT.splitlines() if line.count("|") == 6]
    reasons = [line.split("|")[1] for line in TEXT.splitlines() if line.count("|") == 3]
    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    assert any(pattern.search(cell) for cell in kafka_columns + reasons)


def test_queries_name_existing_metrics() -> None:
    """The queries are those of the first table."""
    exposed = {family.name for family in FAMILIES}
    exposed |= {f"{name}{suffix}" for name in exposed for suffix in ("_sum", "_count", "_bucket")}
    queries = " ".join(line.split("|")[2] for line in TEXT.splitlines() if line.count("|") == 3)
    named = set(re.findall(r"\b(?:shareq|kafka)_\w+", queries))
    assert named
    assert named <= exposed


@for_each("family", FAMILIES)
def test_names_follow_prometheus(family: Family) -> None:
    assert re.fullmatch(r"(kafka|shareq)_[a-z][a-z0-9_]*", family.name)
    assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert not family.name.endswith(("_ms", "_millis"))
    assert len(set(family.labels)) == len(family.labels)
