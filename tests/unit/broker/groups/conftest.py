from __future__ import annotations

import pytest

from tests.support.fakes.group_rig import GroupRig


@pytest.fixture
def rig() -> GroupRig:
    return GroupRig()
