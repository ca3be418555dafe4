"""Names by owner: only the owner with too many is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.quotas import owned_names
from shareq.broker.quotas.owned_names import SWEEP_INTERVAL_MS, OwnedNames


class Made:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.looks = 0

    def place_of(self, name: str) -> int:
        return len(name)

    def has(self, name: str, place: int) -> bool:
        assert place == len(name)
        self.looks += 1
        return name in self.names

    def keeps(self, name: str, place: int) -> bool:
        return self.has(name, place)


@pytest.fixture
def made() -> Made:
    return Made()


def make(names: OwnedNames[str], made: Made, name: str, owner: str, now_ms: int = 0) -> bool:
    admitted = names.admit(name, owner, now_ms)
    if admitted:
        made.names.add(name)
        names.settle(name, owner)
    return admitted


def test_an_owner_at_its_bound_is_refused_new_names_only(made: Made) -> None:
    names = OwnedNames(2, made)
    assert [make(names, made, name, "greedy") for name in "abc"] == [True, True, False]
    assert make(names, made, "a", "greedy")
    assert make(names, made, "c", "honest")
    assert make(names, made, "c", "greedy")  # it exists, and stays the other's
    assert (names.count("greedy"), names.count("honest")) == (2, 1)


def test_names_that_are_gone_make_room(made: Made) -> None:
    names = OwnedNames(1, made)
    assert make(names, made, "a", "x")
    made.names.clear()
    assert make(names, made, "b", "x")
    assert "a" not in names


def test_an_owner_that_goes_on_asking_is_swept_once_an_interval(made: Made) -> None:
    names = OwnedNames(100, made)
    for i in range(100):
        assert make(names, made, f"n{i}", "x")
    made.looks = 0
    for i in range(1_000):
        assert not make(names, made, f"more{i}", "x", now_ms=5)
    assert made.looks == 1_000 + 100  # each new name, and every counted one once
    made.names.discard("n7")
    assert not make(names, made, "late", "x", now_ms=4 + SWEEP_INTERVAL_MS)
    assert make(names, made, "late", "x", now_ms=5 + SWEEP_INTERVAL_MS)


def test_what_was_not_made_is_not_counted(made: Made) -> None:
    names = OwnedNames(1, made)
    assert names.admit("a", "x", 0)
    names.settle("a", "x")
    assert names.count("x") == 0
    assert make(names, made, "b", "x")
    names.settle("b", "x")
    assert names.count("x") == 1


def test_a_name_of_nobody_is_counted_for_the_first_that_uses_it(made: Made) -> None:
    made.names.update("ab")
    names = OwnedNames(1, made)
    assert make(names, made, "a", "x")
    assert make(names, made, "b", "x")  # it exists: never refused
    assert names.count("x") == 2
    assert not make(names, made, "c", "x")


def test_a_name_that_is_gone_may_be_made_by_another_owner(made: Made) -> None:
    names = OwnedNames(1, made)
    assert make(names, made, "a", "x")
    made.names.clear()
    assert make(names, made, "a", "y")
    assert (names.count("x"), names.count("y")) == (0, 1)


_ACTS = [(act, name, owner) for act in ("make", "remove") for name in "abcdefgh" for owner in "xyz"]


@given(
    most=st.integers(1, 4),
    acts=st.lists(st.sampled_from(_ACTS), max_size=40),
)
def test_nobody_is_refused_because_of_others(most: int, acts: list[tuple[str, str, str]]) -> None:
    made = Made()
    names = OwnedNames(most, made)
    maker: dict[str, str] = {}  # the model: of each name that exists
    for step, (act, name, owner) in enumerate(acts):
        if act == "remove":
            made.names.discard(name)
            maker.pop(name, None)
            continue
        own = sum(each == owner for each in maker.values())
        admitted = make(names, made, name, owner, now_ms=step * SWEEP_INTERVAL_MS)
        assert admitted == (name in maker or own < most)
        if admitted:
            maker.setdefault(name, owner)
    assert all(names.count(owner) >= sum(each == owner for each in maker.values()) for owner in "xyz")


def test_what_was_swept_while_it_was_made_is_counted_once_it_is(made: Made) -> None:
    names = OwnedNames(1, made)
    assert names.admit("slow", "x", 0)
    assert make(names, made, "quick", "x")  # at the bound: "slow" does not exist yet
    made.names.add("slow")
    names.settle("slow", "x")
    assert names.count("x") == 2
    assert not make(names, made, "other", "x", now_ms=SWEEP_INTERVAL_MS)


def test_many_names_are_swept_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned_names, "SWEEP_NAMES", 10)
    made = Made()
    names = OwnedNames(25, made)
    for i in range(25):
        assert make(names, made, f"n{i}", "x")
    made.names.discard("n24")
    made.looks = 0
    refused = [not make(names, made, f"more{i}", "x", now_ms=i * SWEEP_INTERVAL_MS) for i in range(3)]
    assert refused.count(False) == 1  # the slice with the removed name was checked
    assert made.looks <= 3 * (1 + 10) + 5  # two slices without, one with it, and what an admitted one costs


def test_names_that_come_and_go_are_no_leak(made: Made) -> None:
    """At most as many removed names as existing ones are kept: members get a new id each time they join."""
    names = OwnedNames(1_000_000, made)
    for owner in range(50):  # machines that are never seen again
        assert make(names, made, f"gone-{owner}", f"machine-{owner}")
    made.names.clear()
    for i in range(1_000):
        assert make(names, made, f"member-{i}", "x")
        made.names.discard(f"member-{i - 10}")
    assert names.count("x") <= 40
    assert len(names) <= 40 + 5


def test_a_name_that_is_being_made_is_counted_all_the_while(made: Made) -> None:
    names = OwnedNames(5, made)
    assert [names.admit(f"slow-{i}", "x", 0) for i in range(5)] == [True] * 5
    for i in range(10):
        assert make(names, made, f"other-{i}", "y" if i < 5 else f"y{i}")
    assert names.count("x") == 5
