"""Membership in a share group, with scripted answers."""

from __future__ import annotations

import pytest

from shareq.client.share.member import EAGER_HEARTBEATS, ShareMember, Verdict
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_group_heartbeat import Assignment, ShareGroupHeartbeatResponse, TopicPartitions

T = bytes(15) + b"t"


def answer(epoch: int = 2, partitions: list[int] | None = None, error: int = 0) -> ShareGroupHeartbeatResponse:
    assignment = None if partitions is None else Assignment([TopicPartitions(T, partitions)] if partitions else [])
    return ShareGroupHeartbeatResponse(
        error_code=error, member_id="m", member_epoch=epoch, heartbeat_interval_ms=5000, assignment=assignment
    )


def joined(partitions: list[int] | None = None) -> ShareMember:
    member = ShareMember("g", "m", ["t", "u"], rack="r")
    member.answered(answer(partitions=[0] if partitions is None else partitions), 0)
    return member


def test_joining_is_a_full_heartbeat_with_epoch_0() -> None:
    member = ShareMember("g", "m", ["t", "u"], rack="r")
    request = member.request()
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "m", 0)
    assert (request.rack_id, request.subscribed_topic_names) == ("r", ["t", "u"])
    assert member.assignment is None


def test_later_heartbeats_send_the_epoch_alone() -> None:
    member = joined([0, 1])
    assert member.assignment == frozenset({(T, 0), (T, 1)})
    request = member.request()
    assert (request.member_epoch, request.rack_id, request.subscribed_topic_names) == (2, None, None)
    assert member.due_ms == 5000


def test_an_answer_without_assignment_leaves_it_as_it_was() -> None:
    member = joined([0, 1])
    assert member.answered(answer(epoch=3), 5000) is Verdict.STEADY
    assert member.assignment == frozenset({(T, 0), (T, 1)})
    assert (member.epoch, member.due_ms) == (3, 10_000)


def test_a_member_without_partitions_asks_sooner_but_not_for_ever() -> None:
    member = joined([])
    assert member.assignment == frozenset()
    assert member.due_ms == 500
    for _ in range(EAGER_HEARTBEATS):
        member.answered(answer(partitions=[]), 1000)
    assert member.due_ms == 6000


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_joins_again_with_its_id(error: ErrorCode) -> None:
    member = joined()
    assert member.answered(answer(error=error), 700) is Verdict.AGAIN
    assert member.due_ms == 700
    request = member.request()
    assert (request.member_id, request.member_epoch, request.subscribed_topic_names) == ("m", 0, ["t", "u"])
    assert member.answered(answer(error=error), 700) is Verdict.LATER  # not in a tight loop


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ErrorCode.NOT_COORDINATOR, Verdict.MOVED),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Verdict.MOVED),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.LATER),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, Verdict.REFUSED),
        (ErrorCode.GROUP_ID_NOT_FOUND, Verdict.REFUSED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Verdict.REFUSED),
        (9999, Verdict.REFUSED),
    ],
)
def test_what_other_errors_mean(error: int, verdict: Verdict) -> None:
    member = joined()
    assert member.answered(answer(error=error), 700) is verdict
    assert member.epoch == 2


def test_leaving() -> None:
    assert joined().leave_request().member_epoch == -1
