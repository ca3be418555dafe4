"""The lateness of records with times of their own beside 100,000 others of the same share partition.

Also the memory that the others take, and whether a kill of the broker loses any of them.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from bench.proc import resident_mb
from devtools.clients.admin import configure_group
from devtools.clients.requests import produce
from devtools.clients.wire import WireClient
from shareq.protocol.names import NOT_BEFORE
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.testing import Broker
from tests.interop.support.share_wire import ACCEPT, Member, create_known_topic

TOPIC: Final = "dated"
FAR_MS: Final = 3_600_000
IN_A_BATCH: Final = 5_000
SOON_S: Final = 0.1


class Dated(NamedTuple):
    """The lateness of each record in seconds, the MB that waiting records take, and the seconds until all waited after
    a start.
    """

    late_s: list[float]
    more_mb: float
    loaded_s: float
    loaded_again_s: float


def dated(own: Broker, delays: int, others: int) -> Dated:
    """Measure at a broker that serves nothing else. Raise RuntimeError if a record is lost or comes early."""
    configs = {
        "share.auto.offset.reset": "earliest",
        "share.partition.max.record.locks": "300000",
        "shareq.delay.enable": "true",
    }
    configure_group(own.bootstrap, TOPIC, configs)
    with WireClient(("127.0.0.1", own.port)) as client:
        topic_id = create_known_topic(client, TOPIC)
        far = round(time.time() * 1_000) + FAR_MS
        for first in range(0, others, IN_A_BATCH):
            _append(client, *(far + 7 * at for at in range(first, min(others, first + IN_A_BATCH))))
        before_mb = resident_mb(own.pid)
        member = Member(client, TOPIC, "one", topic_id)
        member.join([TOPIC])
        loaded_s = _pass_all(member, client, others)
        more_mb = resident_mb(own.pid) - before_mb
        late_s = [_late(member, client, others + 1 + at) for at in range(delays)]
    own.kill()
    own.restart()
    with WireClient(("127.0.0.1", own.port)) as client:
        member = Member(client, TOPIC, "two", topic_id)
        member.join([TOPIC])
        return Dated(late_s, more_mb, loaded_s, _pass_all(member, client, others + 1 + delays))


def _pass_all(member: Member, client: WireClient, offset: int) -> float:
    """Append a record without a time, the only one to be acquired; return the seconds until it came."""
    _append(client, 0)
    began = time.monotonic()
    found = member.take(timeout_s=120)
    if [each[:2] for each in found] != [(offset, offset)]:
        raise RuntimeError(f"only offset {offset} was to come, {found} did")
    took_s = time.monotonic() - began
    member.acknowledged((offset, offset, ACCEPT))
    return took_s


def _late(member: Member, client: WireClient, offset: int) -> float:
    due_ms = round((time.time() + SOON_S) * 1_000)
    _append(client, due_ms)
    member.fetch(max_wait_ms=5_000)
    late_s = time.time() - due_ms / 1_000
    if [each[:2] for each in member.acquired] != [(offset, offset)]:
        raise RuntimeError(f"offset {offset} was to come, {member.acquired} did")
    if late_s < 0:
        raise RuntimeError(f"offset {offset} came {-late_s:.4f} s before its time")
    member.acknowledged((offset, offset, ACCEPT))
    return late_s


def _append(client: WireClient, *times_ms: int) -> None:
    records = [RecordData(None, b"v" * 100, ((NOT_BEFORE, b"%d" % each),)) for each in times_ms]
    answer = produce(client, TOPIC, bytes(build_batch(records, timestamp_ms=round(time.time() * 1_000))))
    if answer.error_code:
        raise RuntimeError(f"produce: error {answer.error_code}")
