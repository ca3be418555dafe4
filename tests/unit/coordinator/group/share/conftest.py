from __future__ import annotations

import pytest

from tests.unit.coordinator.group.share.world import GroupWorld


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld()
