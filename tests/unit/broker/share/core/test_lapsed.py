"""Members whose acquisition locks have expired."""

from __future__ import annotations

from shareq.broker.share.core.locks import MOST_LAPSED, Lapsed


def test_a_member_has_lapsed_until_it_acknowledges() -> None:
    lapsed = Lapsed()
    lapsed.add("a")
    lapsed.add("b")
    lapsed.discard("a")
    lapsed.discard("never heard of")
    assert ("a" in lapsed, "b" in lapsed, len(lapsed)) == (False, True, 1)


def test_of_too_many_the_oldest_are_forgotten() -> None:
    lapsed = Lapsed()
    for number in range(MOST_LAPSED):
        lapsed.add(str(number))
    lapsed.add("0")
    lapsed.add("one more")
    assert len(lapsed) == MOST_LAPSED
    assert ("0" in lapsed, "1" in lapsed, "2" in lapsed) == (True, False, True)
