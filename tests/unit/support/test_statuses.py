"""Statuses while a fault is planted: new objects at first, and the original ones afterwards."""

from __future__ import annotations

import pytest

from shareq.broker.share.core.window import key_order
from shareq.broker.share.core.window.delivery_status import settled
from shareq.protocol.share import RecordState
from tests.support.statuses import new_statuses


def test_what_constants_of_modules_hold_is_known_again() -> None:
    never = settled(RecordState.AVAILABLE, 0)
    assert key_order._NEVER_DELIVERED is never
    with new_statuses():
        made = settled(RecordState.AVAILABLE, 0)
        assert made is not never
        assert settled(RecordState.AVAILABLE, 0) is made
    assert settled(RecordState.AVAILABLE, 0) is never


def test_also_where_the_fault_is_noticed_by_an_exception() -> None:
    never = settled(RecordState.AVAILABLE, 0)
    with pytest.raises(AssertionError), new_statuses():
        raise AssertionError("noticed")
    assert settled(RecordState.AVAILABLE, 0) is never
