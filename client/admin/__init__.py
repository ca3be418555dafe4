"""Administration of any Kafka cluster, ours among them: `Admin` has one part for each subject."""

from shareq.client.admin.client import Admin
from shareq.client.admin.positions import LogRange, Partition, ShareOffset

__all__ = ["Admin", "LogRange", "Partition", "ShareOffset"]
