from __future__ import annotations

import pytest

from tests.unit.coordinator.group.offsets.world import OffsetsWorld


@pytest.fixture
def world() -> OffsetsWorld:
    return OffsetsWorld()
