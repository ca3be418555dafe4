from __future__ import annotations

import pytest

from tests.support.worlds.folder_on_disk import FolderOnDisk


@pytest.fixture
def folder() -> FolderOnDisk:
    return FolderOnDisk()
