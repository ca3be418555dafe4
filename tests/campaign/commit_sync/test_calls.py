"""The calls read from journals."""

from __future__ import annotations

from tests.campaign.commit_sync.calls import Call, calls

JOURNAL = """\
D 1.0 0 5
D 1.0 1 7
A 1.5 0 5
A 1.5 1 7
C 2.0 0 5
C 2.0 1 7
E 2.5 poll _TRANSPORT
D 3.0 0 6
A 3.25 0 6
E 13.25 commit REQUEST_TIMED_OUT
D 20.0 0 6
A 20.5 0 6
D 40.0 0 6
A 41.0 0 6
"""


def test_calls_that_ended_failed_never_came_back_and_were_under_way() -> None:
    found = [Call(1.5, 0.5), Call(3.25, 10.0, "REQUEST_TIMED_OUT"), Call(20.5, None)]
    assert calls([JOURNAL]) == found
    assert calls([JOURNAL, JOURNAL]) == found * 2


def test_a_line_that_was_cut_off_is_left_out() -> None:
    assert calls(["A 1.0 0 5\nC 1."]) == []
