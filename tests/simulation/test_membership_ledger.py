"""The ledger of a share group's members and heartbeats that are under way at the same time."""

from __future__ import annotations

from typing import Final

import pytest

from shareq.coordinator.group.share.group import CurrentAssignment, ShareGroup, ShareMember
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import JOIN, LEAVE, MembershipLedger

MEMBER: Final = "group-1"
EPOCH: Final = 7
NOW_MS: Final = 18_158
SESSION_MS: Final = 5_000
DEADLINE_MS: Final = NOW_MS + SESSION_MS
SHARD: Final = object()


def a_group(*members: str) -> ShareGroup:
    group = ShareGroup("group")
    group.replay_epoch(EPOCH, 0)
    for member_id in members:
        group.replay_member(member_id, ShareMember(member_id))
        group.replay_current(member_id, CurrentAssignment(EPOCH, EPOCH - 1))
    return group


def sent(ledger: MembershipLedger, epoch: int) -> None:
    ledger.on_sent(MEMBER, epoch, DEADLINE_MS)


def answered(ledger: MembershipLedger, epoch: int, group: ShareGroup) -> None:
    reported = Assignment([]) if epoch == JOIN else None
    response = ShareGroupHeartbeatResponse(0, ErrorCode.NONE, None, MEMBER, EPOCH, 1_000, reported)
    ledger.on_answered(MEMBER, epoch, DEADLINE_MS, response, group)


def look(ledger: MembershipLedger, group: ShareGroup) -> None:
    ledger.check(group, SHARD, NOW_MS, SESSION_MS)


def test_member_that_was_not_known_joins_and_leaves_before_the_join_is_answered() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, JOIN)
    sent(ledger, LEAVE)
    answered(ledger, JOIN, a_group())
    look(ledger, a_group())
    answered(ledger, LEAVE, a_group())
    look(ledger, a_group())


def test_member_that_was_seen_gone_leaves_before_its_heartbeat_is_answered() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, JOIN)
    answered(ledger, JOIN, a_group(MEMBER))
    sent(ledger, EPOCH)
    sent(ledger, LEAVE)
    look(ledger, a_group())
    answered(ledger, EPOCH, a_group())
    look(ledger, a_group())


def test_heartbeats_under_way_go_over_to_the_next_group_of_the_name() -> None:
    before = MembershipLedger("group")
    sent(before, JOIN)
    sent(before, LEAVE)
    ledger = before.successor()
    answered(ledger, JOIN, a_group())
    look(ledger, a_group())


def test_member_that_joined_and_did_not_leave_is_not_gone() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, JOIN)
    answered(ledger, JOIN, a_group(MEMBER))
    with pytest.raises(InvariantBroken, match="did not leave"):
        look(ledger, a_group())


def test_leave_before_the_join_is_no_reason_to_be_gone() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, LEAVE)
    sent(ledger, JOIN)
    answered(ledger, LEAVE, a_group())
    answered(ledger, JOIN, a_group(MEMBER))
    with pytest.raises(InvariantBroken, match="did not leave"):
        look(ledger, a_group())


def test_leave_that_was_refused_is_no_reason_to_be_gone() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, JOIN)
    sent(ledger, LEAVE)
    ledger.on_refused(MEMBER, LEAVE)
    answered(ledger, JOIN, a_group(MEMBER))
    with pytest.raises(InvariantBroken, match="did not leave"):
        look(ledger, a_group())


def test_leave_that_a_start_of_the_broker_cut_off_is_no_reason_for_a_later_member_to_be_gone() -> None:
    ledger = MembershipLedger("group")
    sent(ledger, LEAVE)
    ledger.on_broker_start(NOW_MS, SESSION_MS)
    sent(ledger, JOIN)
    answered(ledger, JOIN, a_group(MEMBER))
    with pytest.raises(InvariantBroken, match="did not leave"):
        look(ledger, a_group())


def test_answer_that_nobody_asked_for_is_noticed() -> None:
    ledger = MembershipLedger("group")
    with pytest.raises(InvariantBroken, match="sent nothing"):
        answered(ledger, JOIN, a_group(MEMBER))
