from __future__ import annotations

import pytest

from tests.unit.coordinator.transaction.world import Coordinator


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()
