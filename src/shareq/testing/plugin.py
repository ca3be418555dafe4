"""pytest plugin of the distribution: the fixture `shareq_broker`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from shareq.testing.broker import Broker


@pytest.fixture
def shareq_broker() -> Iterator[Broker]:
    """A running broker of the test's own, in a process of its own, with an empty data folder.

    Starting one takes about a fifth of a second. For one broker in a whole session, write a fixture with that scope
    around `shareq.testing.Broker`.
    """
    from shareq.testing.broker import Broker  # only tests that ask for a broker pay for the import

    with Broker() as broker:
        yield broker
