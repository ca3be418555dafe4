from __future__ import annotations

import pytest

from tests.unit.coordinator.group.consumer.world import ConsumerWorld


@pytest.fixture
def world() -> ConsumerWorld:
    return ConsumerWorld()
