from __future__ import annotations

import pytest

from tests.support.worlds.log_world import LogWorld


@pytest.fixture
def world() -> LogWorld:
    return LogWorld()
