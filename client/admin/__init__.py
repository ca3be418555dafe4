"""Administration of any Kafka cluster, ours among them: `Admin` has one part for each subject."""

from shareq.client.admin.client import Admin

__all__ = ["Admin"]
