"""The scripted cluster of the clients' tests, closed after each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fakes.scripted_world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()
