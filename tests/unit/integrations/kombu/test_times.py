"""The header of a task's record that makes a broker with delays hold it back."""

from __future__ import annotations

from typing import Any

import pytest

from shareq.kombu.tasks import not_before
from shareq.protocol.names import NOT_BEFORE


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ({"task": "t", "eta": "2026-11-30T06:30:00.000100+00:00"}, b"1796020200001"),
        ({"task": "t", "eta": "2026-11-30T07:30:00+01:00"}, b"1796020200000"),
        ({"task": "t", "eta": "1960-01-01T00:00:00+00:00"}, b"0"),
        ({"task": "t", "eta": None}, None),
        ({"task": "t", "eta": "soon"}, None),
        ({"task": "t"}, None),
        ({"eta": "2026-11-30T06:30:00+00:00"}, None),
    ],
)
def test_a_tasks_eta_is_its_records_time_rounded_up(headers: dict[str, Any], value: bytes | None) -> None:
    assert not_before(headers) == (() if value is None else ((NOT_BEFORE, value),))
