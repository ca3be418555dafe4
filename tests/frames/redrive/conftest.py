from __future__ import annotations

import pytest

from tests.support.worlds.redrives import RedriveWorld


@pytest.fixture
def world() -> RedriveWorld:
    return RedriveWorld()
