from __future__ import annotations

import pytest

from tests.support.worlds.dead_letters import DeadLetterWorld


@pytest.fixture
def world() -> DeadLetterWorld:
    return DeadLetterWorld()
