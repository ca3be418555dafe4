from __future__ import annotations

import pytest

from tests.unit.coordinator.group.classic.world import ClassicWorld


@pytest.fixture
def world() -> ClassicWorld:
    return ClassicWorld()
