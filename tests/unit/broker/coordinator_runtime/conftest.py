from __future__ import annotations

import pytest

from tests.support.fakes.coordinator_partition import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()
