"""Tuples may stand for structs of which a message has many: they are written as the structs are."""

from __future__ import annotations

from typing import Any

import pytest

from shareq.protocol.errors import UnencodableMessage
from shareq.protocol.generated import read_share_group_state, share_fetch, share_snapshot, share_update
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchableTopicResponse, ShareFetchResponse
from shareq.protocol.generated.share_update import ShareUpdateValue
from shareq.protocol.primitives import Gathered
from shareq.protocol.stepped_writing import SteppedWriter

WRITERS: list[tuple[Any, Any, tuple[int, ...]]] = [  # Any: a class of a module, and what writes an array of it
    (share_fetch.AcquiredRecords, share_fetch._write_acquired_records_array_1, (3,)),
    (share_update.StateBatch, share_update._write_state_batch_array_0, (2, 3)),
    (share_snapshot.StateBatch, share_snapshot._write_state_batch_array_0, (2, 3)),
    (read_share_group_state.StateBatch, read_share_group_state._write_state_batch_array_0, (2, 3)),
]


@pytest.mark.parametrize(("struct", "write", "rest"), WRITERS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 63, 64, 65, 128, 129, 300])
def test_tuples_are_written_as_the_structs_are(struct: Any, write: Any, rest: tuple[int, ...], count: int) -> None:
    rows = [(1 << 40 | 10 * at, (1 << 40) + 10 * at + at % 7, *rest) for at in range(count)]
    expected, found = bytearray(b"before"), bytearray(b"before")
    write(expected, [struct(*row) for row in rows])
    write(found, rows)
    assert found == expected


def fetched(rows: list[Any]) -> ShareFetchResponse:
    """An answer with these acquired ranges."""
    partition = PartitionData(records=b"", acquired_records=rows)
    return ShareFetchResponse(responses=[ShareFetchableTopicResponse(partitions=[partition])])


def test_a_long_array_of_tuples_is_written_in_steps() -> None:
    rows = [(at, at, 1) for at in range(0, 5_000, 2)]
    steps = SteppedWriter(ShareFetchResponse, 2).message(b"0123", fetched(rows))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            out: Gathered = end.value
            break
    assert b"".join(out.pieces()) == b"0123" + fetched([share_fetch.AcquiredRecords(*row) for row in rows]).encode(2)


@pytest.mark.parametrize("bad", [(0, 0, 1 << 15), (0, 1 << 63, 1), (0, None, 1), (0, 0)])
def test_a_tuple_that_cannot_be_written_is_refused_as_a_struct_is(bad: tuple[Any, ...]) -> None:
    out = bytearray(b"before")
    with pytest.raises(UnencodableMessage):
        fetched([(0, 0, 1), bad]).encode_into(out, 2)
    assert out == b"before"


def test_structs_with_tags_are_written_one_by_one() -> None:
    batch = share_update.StateBatch(1, 2, 2, 1, unknown_tags=((9, b"x"),))
    value = ShareUpdateValue(state_batches=[share_update.StateBatch(0, 0, 2, 1), batch])
    assert ShareUpdateValue.decode(value.encode(0), 0)[0].state_batches == value.state_batches
