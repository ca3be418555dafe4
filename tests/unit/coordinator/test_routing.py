"""Names hash as in Java, so that clients and Apache Kafka find the same partition."""

from __future__ import annotations

import pytest

from shareq.coordinator.routing import group_partition_for, java_abs, java_string_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),  # the well-known string with the smallest hash
        ("\N{GRINNING FACE}", 0xD83D * 31 + 0xDE00),  # two UTF-16 units
    ],
)
def test_string_hash_is_javas(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


def test_the_smallest_int32_has_absolute_value_zero() -> None:
    assert java_abs(-(2**31)) == 0
    assert group_partition_for("polygenelubricants", 50) == 0
    assert group_partition_for("hello", 50) == 22
