"""Files of tests share one Java process, one file after another, unless a file leaves it in use or it has ended."""

from __future__ import annotations

import pytest

from tests.interop.support import java_driver
from tests.interop.support.java_driver import JavaDrivers


class Driver:
    """A driver without a process."""

    def __init__(self) -> None:
        self.is_as_new = True
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> JavaDrivers:
    monkeypatch.setattr(java_driver, "JavaDriver", Driver)
    return JavaDrivers()


def test_files_share_a_driver_that_is_as_new(drivers: JavaDrivers) -> None:
    first = drivers.driver()
    assert drivers.driver() is first
    drivers.close()
    assert vars(first)["is_closed"]


def test_a_driver_in_use_is_ended_and_replaced(drivers: JavaDrivers) -> None:
    first = drivers.driver()
    vars(first)["is_as_new"] = False
    second = drivers.driver()
    assert second is not first
    assert vars(first)["is_closed"]
    assert not vars(second)["is_closed"]
    assert drivers.driver() is second
