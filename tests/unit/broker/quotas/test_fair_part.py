"""Shares of a broker-wide limit, so that no owner can use it up for the others."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.quotas.fair_part import may_make


def made_by(limit: int, acts: list[tuple[str, bool]]) -> Counter[str]:
    """Return the counts of owners after they created or gave back one each, in this order."""
    held: Counter[str] = Counter()
    for owner, makes in acts:
        if not makes:
            held -= Counter((owner,))
        elif may_make(limit, held, owner):
            held[owner] += 1
    return held


def test_alone_an_owner_has_the_whole_limit_and_no_more() -> None:
    assert made_by(5, [("greedy", True)] * 9) == {"greedy": 5}


def test_one_that_comes_after_has_its_part_beyond_the_limit() -> None:
    held = made_by(6, [("greedy", True)] * 9 + [("honest", True)] * 9 + [("greedy", True)])
    assert held == {"greedy": 6, "honest": 3}


def test_what_is_nobodys_counts_as_one_owners() -> None:
    held: Counter[str | None] = Counter({None: 4})
    assert may_make(4, held, "first")
    held["first"] = 2
    assert not may_make(4, held, "first")


ACTS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from((True, True, True, False))), max_size=80)


@given(limit=st.integers(1, 12), acts=ACTS)
def test_an_owner_without_any_is_never_refused(limit: int, acts: list[tuple[str, bool]]) -> None:
    held = made_by(limit, acts)
    assert may_make(limit, held, "honest")
    for owner in "abcdef":  # nor one below its part
        if held[owner] < limit // (len(+held) + (owner not in +held)):
            assert may_make(limit, +held, owner)


@given(limit=st.integers(1, 12), acts=st.lists(st.sampled_from("abcdef").map(lambda owner: (owner, True)), max_size=80))
def test_the_limit_is_exceeded_by_parts_only(limit: int, acts: list[tuple[str, bool]]) -> None:
    held = made_by(limit, acts)
    parts = sum(limit / k for k in range(1, len(held) + 1))
    assert sum(held.values()) <= parts + len(held)
    assert len(held) > 1 or sum(held.values()) <= limit


@given(limit=st.integers(1, 12), acts=ACTS)
def test_one_owner_is_refused_exactly_at_the_limit(limit: int, acts: list[tuple[str, bool]]) -> None:
    held = made_by(limit, [("only", makes) for _, makes in acts])
    assert may_make(limit, held, "only") == (held["only"] < limit)
