from __future__ import annotations

import pytest

from shareq.broker.share.core.partition import SharePartition
from tests.support.models.share_partition import share_partition


@pytest.fixture
def partition() -> SharePartition:
    return share_partition()
