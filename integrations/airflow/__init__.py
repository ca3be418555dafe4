"""A message queue for Apache Airflow: records of a share group start DAGs. See docs/airflow.md."""

from __future__ import annotations


def get_provider_info() -> dict[str, object]:
    """Return the entry by which Airflow finds the queue. Airflow reads it early in its own import."""
    return {
        "package-name": "shareq",
        "name": "shareq",
        "description": "Share groups of Kafka-compatible brokers",
        "queues": ["shareq.airflow.queues.ShareGroupProvider"],
    }
