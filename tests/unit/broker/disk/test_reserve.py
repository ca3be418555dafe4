"""The file of reserved blocks, and the writes that may use them."""

from __future__ import annotations

import errno

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.disk.policy import Use
from shareq.broker.disk.reserve import PIECE_BYTES, Reserve
from shareq.broker.disk.reserved_fs import ReservedFs

DATA = "data"


@pytest.fixture
def fs() -> MemFs:
    disk = MemFs(VirtualClock().call_soon)
    disk.make_dirs(f"{DATA}/orders-0")
    disk.make_dirs(f"{DATA}/__consumer_offsets-0")
    return disk


def reserve_of(fs: MemFs, size: int) -> Reserve:
    reserve = Reserve(fs, DATA)
    reserve.wanted = size
    while reserve.next_piece:
        reserve.take()
    return reserve


def test_it_is_taken_piece_by_piece(fs: MemFs) -> None:
    fs.space_left = 10 * PIECE_BYTES
    reserve = Reserve(fs, DATA)
    reserve.wanted = 2 * PIECE_BYTES + 5
    left = []
    while reserve.next_piece:
        reserve.take()
        left.append(fs.space_left)
    assert left == [9 * PIECE_BYTES, 8 * PIECE_BYTES, 8 * PIECE_BYTES - 5]
    assert Reserve(fs, DATA).size == reserve.size == 2 * PIECE_BYTES + 5


def test_less_than_before_may_be_wanted(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    reserve.wanted = 40
    reserve.take()
    assert (reserve.size, Reserve(fs, DATA).size) == (40, 40)


def test_without_room_it_stays_as_it_is(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    fs.space_left = 50
    reserve.wanted = 200
    with pytest.raises(OSError, match="no space"):
        reserve.take()
    assert (reserve.size, fs.space_left) == (100, 50)


@pytest.mark.parametrize(("use", "kept"), [(Use.CLIENTS, 100), (Use.COORDINATORS, 50), (Use.MAKING_ROOM, 0)])
def test_each_use_gets_its_part_once(fs: MemFs, use: Use, kept: int) -> None:
    reserve = reserve_of(fs, 100)
    fs.space_left = 0
    assert reserve.give_up(use) is (kept < 100)
    assert (reserve.size, fs.space_left) == (kept, 100 - kept)
    assert not reserve.give_up(use)


def test_a_disk_that_does_not_give_the_blocks_back_is_no_reserve(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    fs.fail = lambda kind, _path: OSError(errno.EIO, "broken") if kind == "truncate" else None
    assert not reserve.give_up(Use.MAKING_ROOM)
    assert reserve.size == 100


def test_small_files_of_the_data_folder_are_written_into_it(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    over = ReservedFs(fs, DATA, reserve)
    over.write_atomic(f"{DATA}/checkpoint", b"before")
    fs.space_left = 0
    over.write_atomic(f"{DATA}/checkpoint", b"after")
    assert fs.read_bytes(f"{DATA}/checkpoint") == b"after"
    assert reserve.size == 0


def test_coordinators_append_into_half_of_it(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    file = ReservedFs(fs, DATA, reserve).open(f"{DATA}/__consumer_offsets-0/0.log", create=True)
    fs.space_left = 7
    file.append([b"a" * 20])
    assert (file.size(), reserve.size, fs.space_left) == (20, 50, 37)
    with pytest.raises(OSError, match="no space"):
        file.append([b"b" * 40])
    file.truncate(20)
    assert file.read_at(0, 99) == b"a" * 20


def test_clients_append_into_none_of_it(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    over = ReservedFs(fs, DATA, reserve)
    file = over.open(f"{DATA}/orders-0/0.log", create=True)
    fs.space_left = 7
    with pytest.raises(OSError, match="no space"):
        file.append([b"a" * 20])
    with pytest.raises(OSError, match="no space"):
        over.write_atomic(f"{DATA}/orders-0/0.index", b"a" * 20)
    assert reserve.size == 100


def test_other_errors_do_not_cost_it(fs: MemFs) -> None:
    reserve = reserve_of(fs, 100)
    fs.fail = lambda kind, _path: OSError(errno.EIO, "broken") if kind == "write" else None
    with pytest.raises(OSError, match="broken"):
        ReservedFs(fs, DATA, reserve).write_atomic(f"{DATA}/checkpoint", b"x")
    assert reserve.size == 100
