from __future__ import annotations

import pytest

from tests.support.fakes.share_rig import ShareRig


@pytest.fixture
def rig() -> ShareRig:
    return ShareRig()
