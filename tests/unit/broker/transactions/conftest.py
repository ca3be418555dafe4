from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from tests.support.fakes.transaction_rig import T0, TransactionRig


@pytest.fixture
def rig() -> TransactionRig:
    return TransactionRig()


@pytest.fixture
def producer(rig: TransactionRig) -> ProducerEpoch:
    """Begin a transaction with a record in `T0`."""
    return rig.begun(T0)
