"""The offset in Spark's log: one line of JSON that reads back unchanged; invalid ones are refused in one line."""

from __future__ import annotations

import json

import pytest

from shareq.client.offsets import OffsetRanges
from shareq.spark.offsets import INITIAL, BatchRange, OffsetError, SharePartition, SourceOffset, id_of, id_text

ID = bytes(range(16))
KEY = SharePartition("flights", ID, 0)


def test_an_offset_is_one_small_line_and_reads_back_as_it_was() -> None:
    offset = SourceOffset(
        7,
        {SharePartition("flights", ID, 2): (BatchRange(5, 9, 1), BatchRange(10, 10, 3)), KEY: (BatchRange(0, 0, 1),)},
        {KEY: OffsetRanges([(1, 4)]), SharePartition("trains", b"x" * 16, 1): OffsetRanges([(8, 9)])},
    )
    line = json.dumps(offset.to_json())
    assert line == (
        '{"v": 1, "seq": 7, "t": {"flights": "AAECAwQFBgcICQoLDA0ODw", "trains": "eHh4eHh4eHh4eHh4eHh4eA"}, '
        '"b": {"flights": {"0": [[0, 0, 1]], "2": [[5, 9, 1], [10, 10, 3]]}}, '
        '"u": {"flights": {"0": [[1, 4]]}, "trains": {"1": [[8, 9]]}}}'
    )
    assert SourceOffset.from_json(json.loads(line)) == offset
    assert offset.records == 7


def test_the_initial_offset_is_a_constant_without_topics() -> None:
    assert INITIAL.to_json() == {"v": 1, "seq": 0, "t": {}, "b": {}, "u": {}}
    assert SourceOffset.from_json(INITIAL.to_json()) == INITIAL


def test_partitions_without_ranges_are_left_out() -> None:
    assert SourceOffset(1, {KEY: ()}, {KEY: OffsetRanges()}).to_json()["b"] == {}


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    with pytest.raises(OffsetError, match=r"offsets of version 2, and this release .* knows version 1: go on with"):
        SourceOffset.from_json({"v": 2, "seq": 1})


@pytest.mark.parametrize(
    "broken",
    [
        {"seq": "1"},
        {"t": {"flights": "short"}},
        {"t": {}},
        {"b": {"flights": {"0": [[3, 1, 1]]}}},
        {"b": {"flights": {"0": [[0, 5, 1], [5, 6, 1]]}}},
        {"b": {"flights": {"zero": [[0, 5, 1]]}}},
        {"b": {"flights": {"0": [[0, 5]]}}},
        {"b": {"flights": {"0": 3}}},
        {"b": []},
        {"u": {"flights": {"0": [[1]]}}},
    ],
)
def test_a_damaged_offset_is_refused_and_shown(broken: dict[str, object]) -> None:
    sound = {"v": 1, "seq": 1, "t": {"flights": id_text(ID)}, "b": {"flights": {"0": [[0, 5, 1]]}}, "u": {}}
    SourceOffset.from_json(sound)
    with pytest.raises(OffsetError, match="damaged"):
        SourceOffset.from_json(sound | broken)


@pytest.mark.parametrize("foreign", [None, [], {}, {"index": 3}, "offset"])
def test_an_offset_of_another_source_is_refused(foreign: object) -> None:
    with pytest.raises(OffsetError, match="no offset of a kafka-share source"):
        SourceOffset.from_json(foreign)


def test_topic_ids_read_as_kafkas_tools_print_them() -> None:
    """java.util.UUID 78d3e4a6-... is URL-safe base64 without padding."""
    assert id_text(b"\xff" * 16) == "_____________________w"
    assert id_of("_____________________w") == b"\xff" * 16
    with pytest.raises(ValueError, match="no topic id"):
        id_of("not one!")


def test_what_is_no_offset_is_shown_as_far_as_one_line_goes() -> None:
    with pytest.raises(OffsetError) as caught:
        SourceOffset.from_json("x" * 300)
    assert str(caught.value) == f"this is no offset of a kafka-share source: {'x' * 200}"
