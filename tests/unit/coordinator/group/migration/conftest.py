from __future__ import annotations

import pytest

from tests.unit.coordinator.group.migration.world import MixedWorld


@pytest.fixture
def world() -> MixedWorld:
    return MixedWorld()
