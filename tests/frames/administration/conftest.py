from __future__ import annotations

import pytest

from tests.support.clients.access import AccessWorld


@pytest.fixture
def world() -> AccessWorld:
    return AccessWorld()
