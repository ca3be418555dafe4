from __future__ import annotations

import pytest

from devtools.clients.transactor import Transactor
from tests.support.worlds.transactions import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def producer(world: World) -> Transactor:
    return world.producer()
