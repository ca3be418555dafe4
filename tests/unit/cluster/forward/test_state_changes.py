"""Requests of coordinators to the owner of states: permission, order and wire format."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.pending import Pending, completed
from shareq.cluster.forward.state_changes import Asked, How, Reach, StateChanges, asked_in, reach_in
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode

KEY = SharePartitionKey("g", bytes(16), 0)
OTHER_KEY = SharePartitionKey("g", bytes(16), 1)
OWNER = 7


class Owner:
    def __init__(self) -> None:
        self.coordinator: int | None = OWNER
        self.done: list[int] = []
        self.changes = StateChanges(lambda _group: 3, lambda _slot: self.coordinator)

    def ask(
        self, asked: Asked, ready: Pending[ApiError] | None = None, key: SharePartitionKey = KEY
    ) -> Pending[ApiError]:
        refusal = self.changes.admit(key.group_id, asked, [key])
        if refusal:
            return completed(refusal)
        return self.changes.change(key, asked, ready or completed(NO_ERROR), lambda: self._change(asked))

    def _change(self, asked: Asked) -> Pending[ApiError]:
        self.done.append(asked.number)
        return completed(NO_ERROR)


def asked(number: int, generation: int = 1, node_id: int = OWNER) -> Asked:
    return Asked(How.WIPE, node_id, generation, number)


def error_of(answer: Pending[ApiError]) -> ErrorCode:
    assert answer.done
    return answer.value.code


@given(st.sampled_from(How), st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_a_request_is_understood(how: How, node_id: int, generation: int, number: int) -> None:
    said = Asked(how, node_id, generation, number)
    assert asked_in(said.tags()) == said
    assert asked_in(()) is None


@given(st.binary(max_size=30))
def test_other_bytes_are_no_request_of_a_node(value: bytes) -> None:
    found = asked_in(((29553, value),))
    assert found is None or found.tags() == ((29553, value),)


@given(st.integers(-1, 2**63 - 1), st.integers(-1, 2**63 - 1))
def test_a_reach_is_understood(first: int, end: int) -> None:
    assert reach_in(Reach(first, end).tags()) == Reach(first, end)
    assert reach_in(()) is reach_in(((29553, b"1"),)) is None


def test_only_the_coordinator_by_the_map_in_force_is_heard() -> None:
    owner = Owner()
    assert error_of(owner.ask(asked(1, node_id=8))) is ErrorCode.NOT_COORDINATOR
    owner.coordinator = None  # the node joins again: another one may be the coordinator already
    assert error_of(owner.ask(asked(2))) is ErrorCode.NOT_COORDINATOR
    assert owner.done == []


def test_in_whatever_order_requests_come_the_last_one_is_the_last_that_is_done() -> None:
    """An old request that was delayed in a socket would delete newer confirmed state."""
    requests = [asked(1), asked(2), asked(9, generation=0), asked(1, generation=2)]
    for order in permutations(requests):
        owner, highest = Owner(), (0, -1)
        for each in order:
            done = error_of(owner.ask(each)) is ErrorCode.NONE
            assert done == (each.order > highest)
            highest = max(highest, each.order)
        assert owner.done[-1:] == [1], "that of the last generation"


def test_what_waits_for_letters_is_overtaken_by_a_newer_request_for_the_same_state() -> None:
    owner, letters = Owner(), Pending[ApiError]()
    waiting = owner.ask(asked(1), letters)
    other = owner.ask(asked(2), letters, OTHER_KEY)
    assert error_of(owner.ask(asked(3))) is ErrorCode.NONE
    letters.complete(NO_ERROR)
    assert error_of(waiting) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert error_of(other) is ErrorCode.NONE
    assert owner.done == [3, 2]


def test_letters_that_are_not_written_keep_the_state() -> None:
    owner = Owner()
    late = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "letters")
    assert owner.ask(asked(1), completed(late)).value == late
    assert owner.done == []
    assert error_of(owner.ask(asked(2))) is ErrorCode.NONE
