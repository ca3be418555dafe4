from __future__ import annotations

import pytest

from shareq.broker.metadata.changes import ResourceName
from shareq.broker.share.acknowledgements import PartitionAcks
from shareq.broker.share.core.partition import AckBatch
from shareq.broker.share.core.sessions import ListedPartition
from shareq.broker.share.fetch import ShareFetchParams, WantedPartition
from shareq.broker.share.service import ShareService
from shareq.coordinator.ports import IsolationLevel, ShareGroupSettings
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import INITIAL_EPOCH, AcknowledgeType, AcquireMode
from tests.support.coroutines import finished
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.share_leaders import Waiter
from tests.support.fakes.share_rig import LOCK_MS, ShareRig, ranges


class Rig(ShareRig):
    """A share service of at most one session, with a record in partition 0."""

    def __init__(self) -> None:
        super().__init__()
        self.source().fill(b"0")
        self.service = ShareService(
            self.env,
            self.sources,
            self.settings,
            self.leader_map,
            self.states,
            self.topics,
            self.budget,
            1,
        )

    def fetching(self, *, wait_ms: int = 0, refuse: ErrorCode = ErrorCode.NONE) -> list[tuple[int, int, int]] | None:
        """Return the acquired ranges, or None while the fetch waits."""
        params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, wait_ms, 1, 100_000, 500, 500)
        wanted = [WantedPartition(self.topic_id, 0, "t")]
        pending = self.service.fetch(params, wanted, (lambda _topic: refuse) if refuse else None).start()
        return ranges(pending.value) if pending.done else None

    def opens(self, member: str) -> bool:
        listed = [ListedPartition(self.topic_id, 0, "t")]
        opened = self.service.sessions.open_or_update(
            "g", member, INITIAL_EPOCH, listed, (), has_acks=False, connection_id=member
        )
        return not isinstance(opened, ErrorCode)


def test_its_parts_share_the_leaders() -> None:
    rig = Rig()
    assert rig.fetching() == [(0, 0, 1)]
    assert rig.service.partitions.get(rig.key()) is not None
    assert rig.service.partitions.counters.of_topic(rig.topic_id).fetches == 1


def test_a_fetch_has_the_groups_isolation_level_of_when_it_came() -> None:
    rig = Rig()
    rig.source().unstable_from = 0
    rig.settings.share_by_group["g"] = ShareGroupSettings(isolation_level=IsolationLevel.READ_COMMITTED)
    assert rig.fetching() == []
    rig.settings.share_by_group.clear()
    assert rig.fetching() == [(0, 0, 1)]


def test_there_are_so_many_sessions_and_none_when_share_groups_are_off() -> None:
    rig = Rig()
    assert (rig.opens("a"), rig.opens("b")) == (True, False)
    rig.fetching()
    rig.service.share_groups_disabled()
    assert rig.service.partitions.get(rig.key()) is None
    assert len(rig.service.sessions) == 0
    assert rig.opens("b")


def test_news_of_topics_and_leaders_reach_the_partitions() -> None:
    rig = Rig()
    rig.fetching()
    rig.leader_map.move("t", 0, ELSEWHERE)
    rig.service.leader_moved("t", 0)
    assert rig.service.partitions.get(rig.key()) is None
    rig.leader_map.move("t", 0, None)
    rig.fetching()
    rig.service.topics_deleted([rig.topics.delete("t")])
    assert rig.service.partitions.get(rig.key()) is None


def test_a_stop_answers_who_waits_and_gives_nothing_back() -> None:
    rig = Rig()
    assert rig.fetching() == [(0, 0, 1)]
    assert rig.fetching(wait_ms=60_000) is None
    assert len(rig.service.partitions.purgatory) == 1
    assert rig.opens("m")
    rig.service.stop_waiting()
    assert len(rig.service.partitions.purgatory) == 0


@pytest.mark.parametrize(
    ("changed", "groups"),
    [(("group", "g"), "g"), (("group", "h"), "h"), (("broker", ""), "gh"), (("topic", "g"), "")],
)
def test_a_change_of_config_has_the_fetches_of_its_groups_look_again(changed: tuple[str, str], groups: str) -> None:
    rig = Rig()
    waiters = Waiter("g"), Waiter("h")
    for waiter in waiters:
        rig.service.partitions.purgatory.park(waiter, [])
    rig.service.config_changed(ResourceName(*changed))
    assert [waiter.looks for waiter in waiters] == [0, 0], "what is in effect is not complete yet"
    rig.clock.run_until_idle()
    assert [waiter.looks for waiter in waiters] == ["g" in groups, "h" in groups]


def test_many_fetches_that_wait_look_again_in_turns_and_those_that_left_do_not() -> None:
    rig = Rig()
    waiters = [Waiter() for _ in range(10)]
    for waiter in waiters:
        rig.service.partitions.purgatory.park(waiter, [])
    rig.service.config_changed(ResourceName("group", "g"))
    seen = []
    while rig.clock.run_tick():
        seen.append(sum(waiter.looks for waiter in waiters))
        rig.service.partitions.purgatory.unpark(waiters[9], [])
    assert seen == [4, 8, 9, 9]
    assert waiters[9].looks == 0


def test_close_stops_the_timer() -> None:
    rig = Rig()
    rig.fetching()
    rig.service.close()
    rig.clock.advance(LOCK_MS)
    leader = rig.service.partitions.get(rig.key())
    assert leader is not None
    assert leader.core.snapshot()[0].owner == "m"


def test_its_sessions_give_back_to_its_partitions_and_its_acknowledgements_reach_them() -> None:
    rig = Rig()
    assert rig.opens("m")
    assert rig.fetching() == [(0, 0, 1)]
    applied = rig.service.acknowledgements.apply(
        "g",
        "m",
        [PartitionAcks(rig.topic_id, 0, [AckBatch(0, 0, [AcknowledgeType.RELEASE])])],
        lambda _topic: ErrorCode.NONE,
        renew_request=False,
        renew_version=False,
    )
    results = finished(applied)
    assert results.value == {(rig.topic_id, 0): ErrorCode.NONE}
    assert rig.fetching() == [(0, 0, 2)]
    session = rig.service.sessions.get("g", "m")
    assert session is not None
    rig.service.session_ends.close(session)
    assert rig.fetching() == [(0, 0, 3)]


def test_what_may_not_be_read_is_refused_by_the_fetch() -> None:
    rig = Rig()
    params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 0, 1, 100_000, 500, 500)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    fetch = rig.service.fetch(params, [WantedPartition(rig.topic_id, 0, "t")], lambda _topic: denied)
    assert [each.error for each in fetch.start().value] == [denied]
