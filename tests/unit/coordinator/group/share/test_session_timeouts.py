from __future__ import annotations

from shareq.coordinator.group.share.session_timeouts import SessionTimeouts
from shareq.coordinator.ports import ShareGroupSettings

SETTINGS = ShareGroupSettings(session_timeout_ms=45_000)
ROOM = 1_000_000


def test_a_member_is_due_when_its_groups_timeout_has_passed() -> None:
    timeouts = SessionTimeouts()
    timeouts.heard_of("g", "m1", SETTINGS, 1_000)
    timeouts.heard_of("g", "m2", SETTINGS, 2_000)
    timeouts.heard_of("h", "m3", ShareGroupSettings(session_timeout_ms=10_000), 2_000)
    assert timeouts.next_ms() == 12_000
    assert timeouts.take_silent(11_999, ROOM) == {}
    assert timeouts.take_silent(46_000, ROOM) == {"h": ["m3"], "g": ["m1"]}
    assert timeouts.take_silent(46_999, ROOM) == {}
    assert timeouts.take_silent(47_000, ROOM) == {"g": ["m2"]}
    assert timeouts.next_ms() is None


def test_each_heartbeat_starts_the_timeout_over_and_leaving_ends_it() -> None:
    timeouts = SessionTimeouts()
    timeouts.heard_of("g", "m1", SETTINGS, 0)
    timeouts.heard_of("g", "m2", SETTINGS, 0)
    timeouts.heard_of("g", "m1", SETTINGS, 5_000)
    timeouts.clear("g", "m2")
    timeouts.clear("g", "never heard of")
    assert timeouts.take_silent(49_999, ROOM) == {}
    assert timeouts.take_silent(50_000, ROOM) == {"g": ["m1"]}


def test_as_many_are_taken_as_one_append_has_room_for_and_at_least_one() -> None:
    timeouts = SessionTimeouts()
    for number in range(10):
        timeouts.heard_of("g", f"m{number}", SETTINGS, number)
    assert timeouts.take_silent(100_000, 1) == {"g": ["m0"]}
    assert timeouts.take_silent(100_000, ROOM) == {"g": [f"m{number}" for number in range(1, 10)]}
