"""Files and folders whose names must be durable before their content counts, and the order of their syncs."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.promises.checkpoints import parse_epochs, parse_partition_metadata
from shareq.broker.log.promises.new_names import NewNames, create_folder, names_of, segment_names

DATA = "srv/data"
FOLDER = f"{DATA}/orders-0"
TOPIC_ID = bytes(range(16))


def test_a_folder_is_named_by_its_two_files_the_manifest_and_the_data_folder() -> None:
    """The folder's own entries are synced before the entry that leads to it."""
    assert names_of(FOLDER) == NewNames(
        [f"{FOLDER}/partition.metadata", f"{FOLDER}/leader-epoch-checkpoint", f"{DATA}/log-manifest"], [FOLDER, DATA]
    )


def test_a_segment_is_named_by_the_manifest_and_its_folder() -> None:
    assert segment_names(FOLDER) == NewNames([f"{DATA}/log-manifest"], [FOLDER])


def test_both_have_each_path_once_in_the_order_of_the_first() -> None:
    both = NewNames(["a", "b"], ["x"]).and_(NewNames(["b", "c", "a"], ["y", "x"]))
    assert both == NewNames(["a", "b", "c"], ["x", "y"])


@pytest.mark.parametrize(("epoch", "start"), [(0, 0), (3, 17)])
def test_a_new_folder_says_whose_it_is_and_since_when(epoch: int, start: int) -> None:
    fs = MemFs(VirtualClock().call_soon, Random(1))
    assert create_folder(fs, FOLDER, TOPIC_ID, epoch, start) == names_of(FOLDER)
    assert parse_partition_metadata(fs.read_bytes(f"{FOLDER}/partition.metadata")) == TOPIC_ID
    assert parse_epochs(fs.read_bytes(f"{FOLDER}/leader-epoch-checkpoint")) == [(epoch, start)]
