"""The log of share-group events: joins, leaves, fencing, expired locks, records given up."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.bounded_log import MOST_LINES
from shareq.broker.share.events import MOST_RANGES
from shareq.protocol.errors import ErrorCode
from tests.support.clients.share_client import REJECT, RELEASE, Place, ShareClient, append, configure, from_the_start

LOCK_MS = 15_000


class Work:
    """A member of group g with topic t of one partition. Records are given up after `limit` deliveries."""

    def __init__(self, limit: int = 2, records: int = 10) -> None:
        self.world = BrokerWorld()
        self.place: Place = (self.world.create_topic("t").topic_id, 0)
        from_the_start(self.world)
        configure(self.world, share_record_lock_duration_ms=str(LOCK_MS), share_delivery_count_limit=str(limit))
        append(self.world, "t", records)
        self.member = ShareClient(self.world, "one", client_id="worker\n7")


def said(caplog: pytest.LogCaptureFixture, event: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return level, message and fields of the log lines about such an event."""
    found = []
    for record in caplog.records:
        fields = dict(getattr(record, "fields", {}))
        if fields.pop("event", None) == event:
            found.append((record.levelname, record.getMessage(), fields))
    return found


def test_a_member_that_joins_and_leaves_has_a_line_each_and_heartbeats_have_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    client = {"group": "g", "member": "one", "client_id": "worker\n7", "client_address": "127.0.0.1"}
    with caplog.at_level(logging.INFO):
        work.member.heartbeat("t", epoch=0)
        for _ in range(3):
            work.member.heartbeat()
        work.member.heartbeat("t", epoch=0)  # still the same member
        work.member.leave()
    text = "share group g: member one {} (client id 'worker\\n7', /127.0.0.1)"
    assert said(caplog, "member_joined") == [("INFO", text.format("joined"), client)]
    assert said(caplog, "member_left") == [("INFO", text.format("left"), client)]


def test_a_fenced_member_has_a_line_and_one_that_goes_on_cannot_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    work.member.heartbeat("t", epoch=0)
    with caplog.at_level(logging.INFO):
        for _ in range(MOST_LINES + 5):
            assert work.member.heartbeat(epoch=17).error_code == ErrorCode.FENCED_MEMBER_EPOCH
        lines = said(caplog, "member_fenced")
        assert len(lines) == MOST_LINES
        level, text, fields = lines[0]
        assert (level, fields["error"], fields["member_epoch"]) == ("INFO", "FENCED_MEMBER_EPOCH", 17)
        assert text.endswith(": FENCED_MEMBER_EPOCH at member epoch 17")


def test_a_member_that_is_silent_has_a_line(caplog: pytest.LogCaptureFixture) -> None:
    work = Work()
    work.member.heartbeat("t", epoch=0)
    with caplog.at_level(logging.INFO):
        work.world.clock.advance(60_000)
    expected = ("INFO", "share group g: members ['one'] were not heard of in time", {"group": "g", "members": ["one"]})
    assert said(caplog, "member_silent") == [expected]


def test_locks_that_run_out_have_a_line_for_those_who_want_all(caplog: pytest.LogCaptureFixture) -> None:
    work = Work()
    work.member.join("t")
    work.member.acquire(work.place)
    with caplog.at_level(logging.INFO):
        work.world.clock.advance(LOCK_MS + 1)
    assert said(caplog, "lock_expired") == []
    work.member.acquire()
    work.member.acknowledge(work.place, (0, 3, REJECT))
    with caplog.at_level(logging.DEBUG, logger="shareq.broker.share"):
        work.world.clock.advance(LOCK_MS + 1)
    fields = {"group": "g", "topic": "t", "partition": 0, "offsets": [(4, 9)]}
    assert said(caplog, "lock_expired") == [
        ("DEBUG", "share group g: t-0: the locks of offsets 4 to 9 ran out", fields)
    ]


def test_what_reaches_the_delivery_limit_has_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(limit=2)
    work.member.join("t")
    work.member.acquire(work.place)
    with caplog.at_level(logging.INFO):
        work.world.clock.advance(LOCK_MS + 1)  # the first delivery fails, and nothing is given up
        assert said(caplog, "delivery_limit") == []
        work.member.acquire()
        work.member.acknowledge(work.place, (0, 3, RELEASE))
        work.world.clock.advance(LOCK_MS + 1)
    text = "share group g: t-0: offsets {} to {} are given up after 2 deliveries"
    place = {"group": "g", "topic": "t", "partition": 0, "attempts": 2}
    assert said(caplog, "delivery_limit") == [
        ("WARNING", text.format(0, 3), {**place, "first_offset": 0, "last_offset": 3}),
        ("WARNING", text.format(4, 9), {**place, "first_offset": 4, "last_offset": 9}),
    ]


def test_many_ranges_at_once_are_summed_up(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(limit=2, records=200)
    work.member.join("t")
    work.member.acquire(work.place)
    work.world.clock.advance(LOCK_MS + 1)
    offsets = [at for first, last, _ in work.member.acquire() for at in range(first, last + 1)]
    assert len(offsets) > 4 * MOST_RANGES
    with caplog.at_level(logging.INFO):
        work.member.acknowledge(work.place, *[(at, at, RELEASE if at % 2 else REJECT) for at in offsets])
    summary, *single = said(caplog, "delivery_limit")
    left = len(offsets) // 2 - MOST_RANGES
    assert summary[1] == f"share group g: t-0: {left} offsets in {left} ranges are given up beside the following"
    assert len(single) == MOST_RANGES
