"""Apache Kafka's small text files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shareq.broker.log.promises.checkpoints import (
    format_epochs,
    format_offsets,
    format_partition_metadata,
    parse_epochs,
    parse_offsets,
    parse_partition_metadata,
)

TOPIC_ID = bytes(range(16))


def test_offsets() -> None:
    offsets = {("orders", 1): 27, ("a.b-c_d", 0): 2**40}
    layout = b"0\n2\na.b-c_d 0 1099511627776\norders 1 27\n"
    assert format_offsets(offsets).startswith(layout + b"crc32c ")
    assert parse_offsets(layout) == offsets  # of format 1
    assert parse_offsets(format_offsets(offsets)) == offsets
    assert parse_offsets(format_offsets({})) == {}


def test_epochs() -> None:
    assert format_epochs([(0, 0), (3, 17)]) == b"0\n2\n0 0\n3 17\n"
    assert parse_epochs(b"0\n2\n0 0\n3 17\n") == [(0, 0), (3, 17)]


def test_partition_metadata() -> None:
    assert format_partition_metadata(TOPIC_ID) == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert parse_partition_metadata(format_partition_metadata(TOPIC_ID)) == TOPIC_ID
    assert parse_partition_metadata(b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw") == TOPIC_ID


@pytest.mark.parametrize("data", [b"", b"0", b"1\n0\n", b"0\n2\na 0 1\n", b"0\n1\na 0\n", b"0\n1\na x 1\n", b"0\nx\n"])
def test_what_is_no_checkpoint(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"checkpoint file|its line 3 is not a topic, a partition and an offset"):
        parse_offsets(data)


@pytest.mark.parametrize("data", [b"", b"version: 0", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"x\n", b"\xff"])
def test_what_is_no_partition_metadata(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"partition.metadata|it is no text from byte 0 on"):
        parse_partition_metadata(data)


@pytest.mark.parametrize("line", ["0  1", "0\t1", "0", "x 1", "0 1 2"])
def test_what_is_no_leader_epoch(line: str) -> None:
    with pytest.raises(ValueError, match=r"^its line 4 is not an epoch and an offset$"):
        parse_epochs(f"0\n2\n0 0\n{line}\n".encode())


EPOCHS = [(0, 0), (3, 17), (12, 1500)]
OFFSETS = {("orders", 0): 1500, ("orders", 1): 27}


@pytest.mark.parametrize(
    ("content", "parse"),
    [
        (format_partition_metadata(TOPIC_ID), parse_partition_metadata),
        (format_epochs(EPOCHS), parse_epochs),
        (b"0\n2\norders 0 1500\norders 1 27\n", parse_offsets),  # of format 1
        (format_offsets(OFFSETS), parse_offsets),
    ],
    ids=["partition.metadata", "epochs", "offsets of format 1", "offsets"],
)
def test_no_flipped_bit_leaves_the_meaning_as_it_was(content: bytes, parse: Callable[[bytes], object]) -> None:
    """Each flip is noticed. A vertical tab is one bit from a line feed, and Python ends a line at both."""
    said = parse(content)
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            assert parse(bytes(damaged)) != said, bytes(damaged)
        except ValueError:
            continue


@pytest.mark.parametrize("end", [b"\x0b", b"\r", b"\x1c", b" ", b""])
def test_a_number_ends_with_its_line(end: bytes) -> None:
    with pytest.raises(ValueError, match="is not an epoch and an offset"):
        parse_epochs(b"0\n2\n0 0" + end + b" \n3 17\n")
    with pytest.raises(ValueError, match="is not a topic, a partition and an offset"):
        parse_offsets(b"0\n1\norders 0 +1" + end + b"\n")
