from __future__ import annotations

import pytest

from shareq.testing import wait_until


def test_it_returns_the_first_result_that_is_true() -> None:
    results = iter([0, [], "there"])
    assert wait_until(lambda: next(results)) == "there"


def test_a_failed_assertion_is_not_yet_and_is_shown_in_the_end() -> None:
    asked = []

    def condition() -> bool:
        asked.append(1)
        assert len(asked) > 2, "two are too few"
        return True

    assert wait_until(condition)
    with pytest.raises(AssertionError, match=r"not within 0.01 s: never .*two are too few"):
        wait_until(lambda: _fail("two are too few"), 0.01, "never")


def _fail(why: str) -> bool:
    raise AssertionError(why)
