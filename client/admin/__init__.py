"""Questions about partitions and share groups."""

from shareq.client.admin.positions import Admin, LogRange, Partition, ShareOffset

__all__ = ["Admin", "LogRange", "Partition", "ShareOffset"]
