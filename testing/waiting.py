"""Waiting for a condition that another process or thread brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
FIRST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.05


def wait_until(condition: Callable[[], T], timeout_s: float = 30.0, what: str = "") -> T:
    """Call a function again and again until its result is true, and return the result.

    An AssertionError of the function counts as not yet. Raises AssertionError, with the last result, when time is up.
    """
    ends_s, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    while True:
        failure: AssertionError | None = None
        try:
            result = condition()
            if result:
                return result
            last = repr(result)
        except AssertionError as error:
            failure, last = error, str(error)
        if time.monotonic() >= ends_s:
            name = what or getattr(condition, "__name__", "the condition")
            raise AssertionError(f"not within {timeout_s:g} s: {name} (at last: {last})") from failure
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
