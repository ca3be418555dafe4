"""Administration of groups on fakes: both steps, the states between them, and failures of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import PAUSE
from shareq.broker.groups.administration import AlteredOffsets, DeletedOffsets, ListedGroups, ShareOffset
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.share.results import SummaryResult
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.coroutines import begun
from tests.support.fakes.group_rig import OFFSETS, STATES, GroupRig, heartbeat
from tests.support.fakes.host import ELSEWHERE

NONE = ErrorCode.NONE
LOG_FAILED = ApiError(ErrorCode.NOT_COORDINATOR, "The coordinator's log could not be written.")
UNKNOWN = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))


class Rig(GroupRig):
    """An administrator, and share group g without members, with states of both partitions of t."""

    def __init__(self, *, group: bool = True) -> None:
        super().__init__()
        self.admin = self.service.administration
        if group:
            self.join()
            self.leave()
            self.states.calls.clear()
            self.leaders.replaced.clear()

    def initialized(self, group: str = "g") -> dict[str, list[int]]:
        topics = self.admin.topics_with_offsets(group).value
        assert not isinstance(topics, ErrorCode)
        return {topic.topic_name: sorted(topic.partitions) for topic in topics.values()}

    def called(self) -> list[object]:
        return [call[0] for call in self.states.calls]

    def listed(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> ListedGroups:
        listed = begun(self.ports.env, self.admin.list_groups(states, types))
        self.ports.clock.run_tick()
        return listed.value

    def delete(self, group_id: str = "g") -> Pending[ApiError]:
        async def deleted() -> ApiError:
            (outcome,) = await self.admin.finish_delete_groups([group_id], [self.admin.begin_delete_group(group_id)])
            return outcome

        return begun(self.ports.env, deleted())

    def describe(self, topic: str, *partitions: int) -> Pending[list[ShareOffset]]:
        async def described() -> list[ShareOffset]:
            (asked,) = await self.admin.ask_offsets("g", {topic: partitions})
            return await self.admin.offsets_of(asked)

        return begun(self.ports.env, described())

    def alter(self, group_id: str, offsets: Mapping[str, Mapping[int, int]]) -> Pending[AlteredOffsets]:
        async def altered() -> AlteredOffsets:
            return await self.admin.alter_offsets(group_id, await self.admin.offsets_to_alter(offsets))

        return begun(self.ports.env, altered())

    def delete_offsets(self, group_id: str, topics: Sequence[str]) -> Pending[DeletedOffsets]:
        return begun(self.ports.env, self.admin.delete_offsets(group_id, topics))


@pytest.fixture
def rig() -> Rig:
    return Rig()


# -- list


def test_groups_of_all_partitions_are_listed_by_state_and_type() -> None:
    rig = Rig(group=False)
    assert rig.listed().groups == []
    groups = ["g0", "g1", "g2", "g3"]
    assert len({group_partition_for(group, 2) for group in groups}) == 2
    for group in groups:
        rig.join(group=group)
    rig.leave(group="g2")
    listed = rig.listed()
    assert (sorted(each.group_id for each in listed.groups), listed.error) == (groups, NONE)
    assert [each.group_id for each in rig.listed(("empty",), ()).groups] == ["g2"]
    assert rig.listed((), ("classic",)).groups == []
    assert len(rig.listed((), ("share",)).groups) == 4


def test_a_partition_that_fails_is_reported_beside_the_groups_of_the_others() -> None:
    rig = Rig(group=False)
    for group in ("g0", "g1", "g2", "g3"):
        rig.join(group=group)
    at = group_partition_for("g0", 2)
    rig.service.coordinator.partitions.get(at).resign()
    listed = rig.listed()
    expected = {group for group in ("g0", "g1", "g2", "g3") if group_partition_for(group, 2) != at}
    assert ({each.group_id for each in listed.groups}, listed.error) == (expected, ErrorCode.NOT_COORDINATOR)


# -- delete a group


def test_a_share_group_goes_after_its_states(rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.delete("g")
    assert rig.states.calls == []
    rig.ports.logs.flush()
    assert rig.states.calls == [("delete", rig.key(each)) for each in (0, 1)]
    assert rig.leaders.deleted == [rig.key(0), rig.key(1)]
    assert not pending.done
    rig.states.answer()
    rig.ports.logs.flush()
    assert (pending.value, rig.shard().group_kind("g")) == (NO_ERROR, None)


def test_states_that_cannot_be_deleted_keep_the_group(rig: Rig) -> None:
    rig.states.errors["delete"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    pending = rig.delete("g")
    rig.ports.logs.flush()
    assert pending.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    rig.states.errors.clear()
    pending = rig.delete("g")
    rig.ports.logs.flush()
    assert (pending.value, len(rig.states.calls)) == (NO_ERROR, 4)


def test_a_group_without_states_touches_no_leader(rig: Rig) -> None:
    rig.ports.topics.delete("t")
    pending = rig.delete("g")
    rig.ports.logs.flush()
    assert (pending.value, rig.states.calls, rig.leaders.deleted) == (NO_ERROR, [], [])


def test_groups_that_cannot_be_deleted() -> None:
    rig = Rig(group=False)
    nobody = ApiError(ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert rig.delete("g").value == nobody
    rig.join()
    assert rig.delete("g").value.code is ErrorCode.NON_EMPTY_GROUP
    assert rig.delete("h").value.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert rig.leaders.deleted == []


@pytest.mark.parametrize("step", [1, 2])
def test_a_deletion_whose_steps_cannot_be_written(step: int, rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.delete("g")
    if step == 2:
        rig.ports.logs.flush()
        rig.states.answer()
    rig.ports.logs.lose_all()
    assert pending.value == LOG_FAILED
    assert len(rig.states.calls) == (2 if step == 2 else 0)


@pytest.mark.parametrize("whole", ["group", "offsets"])
@pytest.mark.parametrize("news", ["joined", "left again", "altered"])
def test_states_stay_that_a_group_is_to_have_again(
    whole: str, news: str, monkeypatch: pytest.MonkeyPatch, rig: Rig
) -> None:
    """Other requests run between the deletions of two states."""
    monkeypatch.setattr(rig.admin, "_breathe", lambda _elements=1: PAUSE)
    pending = rig.delete() if whole == "group" else rig.delete_offsets("g", ["t"])
    rig.ports.logs.flush()
    while not rig.called():
        rig.ports.clock.run_tick()
    if news == "altered":
        rig.service.coordinator.partition("g").run(
            lambda shard: shard.share.begin_alter_offsets("g", {"t": {1: 5}}, 0), lambda _error: None
        )
    else:
        rig.join("n")
        if news == "left again":
            rig.leave("n")
    while not pending.done:
        rig.ports.logs.flush()
        rig.ports.clock.run_tick()
    assert [call[1] for call in rig.states.calls if call[0] == "delete"] == [rig.key(0)]
    outcome = pending.value if isinstance(pending.value, ApiError) else pending.value.topics["t"]
    assert outcome.code is ErrorCode.NON_EMPTY_GROUP


# -- describe offsets


def test_start_offsets_and_lags() -> None:
    rig = Rig(group=False)
    rig.ports.logs.get("t", 0).fill(*[b"x"] * 20)
    rig.ports.logs.get("t", 1).fill(*[b"x"] * 7)
    rig.states.summaries = {
        rig.key(0): SummaryResult(leader_epoch=3, start_offset=5, delivery_complete_count=4, first_offset=5),
        rig.key(1): SummaryResult(leader_epoch=2, first_offset=0),  # acquired, and nothing finished
        rig.key(0, "u"): SummaryResult(leader_epoch=2, start_offset=-1, delivery_complete_count=0),
    }
    offsets = {name: rig.describe(name, 0, 1).value for name in ("t", "u", "nowhere")}
    assert offsets == {
        "t": [ShareOffset(5, 3, 11), ShareOffset(-1, 2, 7)],
        "u": [ShareOffset(-1, 2), ShareOffset()],
        "nowhere": [ShareOffset(), ShareOffset()],
    }


def test_offsets_that_cannot_be_returned() -> None:
    rig = Rig(group=False)
    rig.states.errors["read_summary"] = ErrorCode.NOT_COORDINATOR
    assert rig.describe("t", 0).value == [ShareOffset()]
    rig.states.errors.clear()
    rig.states.holds = True
    rig.states.summaries = {rig.key(0): SummaryResult(start_offset=5, delivery_complete_count=4, first_offset=5)}
    pending = rig.describe("t", 0)
    rig.ports.topics.delete("t")
    rig.states.answer()
    assert pending.value == [ShareOffset(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


def test_the_topics_that_a_group_has_states_of() -> None:
    assert Rig(group=False).initialized() == {}
    rig = Rig()
    assert (rig.initialized(), rig.initialized("h")) == ({"t": [0, 1]}, {})
    rig.delete("g")
    pending = rig.admin.topics_with_offsets("g")
    rig.ports.logs.lose_all()
    assert pending.value is ErrorCode.NOT_COORDINATOR


# -- alter offsets


def test_offsets_are_altered_and_what_cannot_be_is_reported_row_by_row(rig: Rig) -> None:
    pending = rig.alter("g", {"t": {0: 5, 1: -2, 2: 5}, "nowhere": {0: 5}, "u": {0: -1}})
    rig.ports.logs.flush()
    refused = ApiError(ErrorCode.INVALID_REQUEST, "The start offset is neither an offset nor -1.")
    assert pending.value == AlteredOffsets(
        NO_ERROR,
        {("t", 1): refused, ("t", 2): UNKNOWN, ("nowhere", 0): UNKNOWN, ("t", 0): NO_ERROR, ("u", 0): NO_ERROR},
    )
    group = rig.shard().share.group("g")
    assert group is not None
    assert rig.states.calls == [
        ("initialize", rig.key(0), group.group_epoch, 5),
        ("initialize", rig.key(0, "u"), group.group_epoch, -1),
    ]
    assert rig.leaders.replaced == [rig.key(0), rig.key(0, "u")]
    assert rig.initialized() == {"t": [0, 1], "u": [0]}


def test_altering_makes_topics_and_group() -> None:
    rig = Rig(group=False)
    pending = rig.alter("new", {"t": {0: 5}})
    rig.ports.logs.flush()
    assert (pending.value.error, rig.initialized("new")) == (NO_ERROR, {"t": [0]})
    assert rig.ports.topics.created[-2:] == [OFFSETS, STATES]


def test_the_leaders_forget_before_the_states_change_and_after_the_first_step_is_durable(rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.alter("g", {"t": {0: 5}})
    assert (rig.leaders.replaced, rig.states.calls) == ([], [])
    rig.ports.logs.flush()
    assert (rig.leaders.replaced, len(rig.states.calls), pending.done) == ([rig.key(0)], 1, False)
    rig.states.answer()
    assert not pending.done
    rig.ports.logs.flush()
    assert pending.value.partitions == {("t", 0): NO_ERROR}


def test_with_nothing_that_can_be_altered_nothing_is_asked(rig: Rig) -> None:
    pending = rig.alter("g", {"nowhere": {0: 5}})
    rig.ports.logs.flush()
    assert pending.value == AlteredOffsets(NO_ERROR, {("nowhere", 0): UNKNOWN})
    assert (rig.states.calls, rig.leaders.replaced) == ([], [])


def test_a_group_with_members_is_not_altered(rig: Rig) -> None:
    rig.join()
    rig.states.calls.clear()
    answer = rig.alter("g", {"t": {0: 5, 1: -5}}).value
    assert answer.error.code is ErrorCode.NON_EMPTY_GROUP
    assert rig.states.calls == []


@pytest.mark.parametrize("has_state", [False, True])
def test_a_state_that_cannot_be_initialized_is_reported_and_asked_for_again_if_missing(has_state: bool) -> None:
    rig = Rig(group=has_state)
    rig.states.errors["initialize"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    pending = rig.alter("g", {"t": {0: 5}})
    rig.ports.logs.flush()
    failed = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert pending.value == AlteredOffsets(NO_ERROR, {("t", 0): failed})
    group = rig.shard().share.group("g")
    assert group is not None
    noted = {number for topic in group.initializing.values() for number in topic.partitions}
    assert noted == (set() if has_state else {0})
    assert (rig.id_of("t") in group.initialized) is has_state


@pytest.mark.parametrize("step", [1, 2])
def test_an_alteration_whose_steps_cannot_be_written(step: int, rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.alter("g", {"t": {0: 5}})
    if step == 2:
        rig.ports.logs.flush()
        rig.states.answer()
    rig.ports.logs.lose_all()
    assert pending.value == AlteredOffsets(LOG_FAILED, {("t", 0): NO_ERROR} if step == 2 else {})


def test_altering_without_topics_that_can_be_made() -> None:
    rig = Rig(group=False)
    rig.ports.impossible_topics()
    answer = rig.alter("g", {"t": {0: 5}}).value
    assert (answer.error.code, bool(answer.error.message)) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, True)
    assert answer.partitions == {}


# -- delete offsets


def test_whole_topics_are_forgotten(rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.delete_offsets("g", ["t", "u"])
    rig.ports.logs.flush()
    assert rig.called() == ["delete", "delete"]
    assert rig.leaders.deleted == [rig.key(0), rig.key(1)]
    rig.states.answer()
    rig.ports.logs.flush()
    answer = pending.value
    assert (answer.error, answer.topics) == (NO_ERROR, {"t": NO_ERROR})
    assert (rig.initialized(), set(answer.refused) <= {"u"}) == ({}, True)


def test_states_that_cannot_be_deleted_are_reported_and_kept_in_mind(rig: Rig) -> None:
    rig.states.errors["delete"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    pending = rig.delete_offsets("g", ["t"])
    rig.ports.logs.flush()
    assert pending.value.topics == {"t": ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)}
    state = rig.shard().share.group("g")
    assert state is not None
    assert state.state_partitions is not None
    assert rig.id_of("t") in state.state_partitions.deleting
    rig.states.errors.clear()
    pending = rig.delete_offsets("g", ["t"])
    rig.ports.logs.flush()
    assert pending.value.topics == {"t": NO_ERROR}


@pytest.mark.parametrize(("group", "error"), [("g", ErrorCode.GROUP_ID_NOT_FOUND), ("", ErrorCode.INVALID_GROUP_ID)])
def test_offsets_of_no_group(group: str, error: ErrorCode) -> None:
    rig = Rig(group=False)
    assert rig.delete_offsets(group, ["t"]).value == DeletedOffsets(ApiError(error, f"Group {group} not found."))
    rig.ports.topics.add(OFFSETS, 2)
    assert rig.delete_offsets(group, ["t"]).value.error.code is error


def test_offsets_of_a_group_with_members_stay(rig: Rig) -> None:
    rig.join()
    answer = rig.delete_offsets("g", ["t"]).value
    assert (answer.error.code, rig.leaders.deleted) == (ErrorCode.NON_EMPTY_GROUP, [])


@pytest.mark.parametrize("step", [1, 2])
def test_a_deletion_of_offsets_whose_steps_cannot_be_written(step: int, rig: Rig) -> None:
    rig.states.holds = True
    pending = rig.delete_offsets("g", ["t"])
    if step == 2:
        rig.ports.logs.flush()
        rig.states.answer()
    rig.ports.logs.lose_all()
    assert pending.value == DeletedOffsets(LOG_FAILED, {"t": NO_ERROR} if step == 2 else {})


def test_what_another_broker_coordinates(rig: Rig) -> None:
    at = group_partition_for("g", 2)
    rig.ports.leaders.move(OFFSETS, at, ELSEWHERE)
    rig.service.leader_moved(OFFSETS, at)
    assert rig.delete_offsets("g", ["t"]).value.error == LOG_FAILED
    assert rig.delete("g").value == LOG_FAILED


def test_groups_of_other_kinds_are_deleted_too() -> None:
    rig = Rig(group=False)
    row = OffsetCommitRequestPartition(0, 5)
    request = OffsetCommitRequest(group_id="o", topics=[OffsetCommitRequestTopic("t", partitions=[row])])
    rig.ports.answer(rig.commit_begun(request, 9))
    assert rig.ports.answer(rig.delete("o")) == NO_ERROR
    assert rig.listed().groups == []


def test_what_an_alteration_could_not_initialize_is_asked_for_by_heartbeats_after_the_retry_time() -> None:
    rig = Rig(group=False)
    rig.states.errors["initialize"] = ErrorCode.COORDINATOR_NOT_AVAILABLE
    rig.alter("g", {"u": {0: 5}})
    rig.ports.logs.flush()
    rig.states.calls.clear()
    rig.ports.clock.advance(20_000)
    joined = rig.join("m", "u")
    assert rig.states.calls == []
    rig.ports.clock.advance(10_000)
    rig.beat(heartbeat("m", joined.member_epoch))
    rig.ports.logs.flush()
    assert [call[:2] for call in rig.states.calls] == [("initialize_once", rig.key(0, "u"))]


def test_topics_that_have_no_states_are_reported_with_the_reason() -> None:
    rig, absent = Rig(), ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic does not exist.")
    pending = rig.delete_offsets("g", ["t", "nowhere"])
    rig.ports.logs.flush()
    assert (pending.value.topics, pending.value.refused) == ({"t": NO_ERROR}, {"nowhere": absent})
    pending = rig.delete_offsets("g", ["nowhere"])
    rig.ports.logs.flush()
    assert (pending.value.topics, pending.value.refused) == ({}, {"nowhere": absent})
