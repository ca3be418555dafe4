"""The follower of an exchange's topic skips unreadable batches."""

from __future__ import annotations

import logging
from typing import cast

import pytest

from shareq.client.aio.network import Network
from shareq.kombu.tail import Tail
from shareq.protocol.records.batch import build_batch
from shareq.protocol.records.record_codec import Record, RecordData


def batch(at: int) -> bytes:
    return bytes(build_batch([RecordData(None, b"%d" % at)], timestamp_ms=5, base_offset=at))


def test_a_batch_that_cannot_be_read_stops_nothing_behind_it(caplog: pytest.LogCaptureFixture) -> None:
    tail = Tail(cast("Network", None), "celery.pidbox.exchange")
    heard: list[Record] = []
    tail._listeners[heard.append] = 0
    bad = bytearray(batch(1))
    bad[-3:] = b"\x7f\x7f\x7f"
    with caplog.at_level(logging.ERROR):
        tail._take(batch(0) + bytes(bad) + batch(2))
    assert [record.offset for record in heard] == [0, 2]
    (line,) = caplog.messages
    assert line.startswith("topic celery.pidbox.exchange: the batch at offset 1 is passed over: ")
    assert tail._position == 3
