from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld


@pytest.fixture
def world() -> BrokerWorld:
    return BrokerWorld()
