"""`shareq import-logs` and `shareq export-logs`: the commands and their output."""

from __future__ import annotations

import time
from collections.abc import Callable

from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.neighbour.hand_over import hand_over
from shareq.broker.maintenance.neighbour.take_over import take_over
from shareq.broker.maintenance.progress import Progress, bytes_text
from shareq.broker.maintenance.verify_command import verify

Write = Callable[[str], None]


def import_logs(source: str, data_dir: str, out: Write, err: Write) -> None:
    """Create a data folder from one of Apache Kafka's, and check it. Raise MaintenanceError, OSError."""
    taken = take_over(OsFs(lambda call: call()), source, data_dir, Progress("import", time.monotonic, err))
    for line in taken.left_out:
        err(f"shareq: left out: {line}")
    findings: list[str] = []
    if not verify(data_dir, None, findings.append, err):
        first = "; ".join(findings[:2])
        raise MaintenanceError(f"{data_dir}: copied as it was, with damage: {first}; see `shareq verify {data_dir}`")
    out(
        f"imported {taken.topics} topics, {taken.logs} logs, {bytes_text(taken.size)}, of cluster {taken.cluster_id}, "
        f"into {data_dir}; {source} is as it was"
    )


def export_logs(data_dir: str, kafka: str, out: Write) -> None:
    """Fill a folder that Apache Kafka's tool has formatted. Raise MaintenanceError, OSError."""
    done = hand_over(OsFs(lambda call: call()), data_dir, kafka)
    out(f"exported {done.topics} topics, {done.logs} logs into {kafka}, for Apache Kafka; {data_dir} is as it was")
