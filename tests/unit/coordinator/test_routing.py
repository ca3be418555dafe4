"""Names hash as in Java, so that clients and Apache Kafka find the same partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.routing import group_partition_for, java_abs, java_string_hash, java_string_hash_after


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


@given(st.text(), st.text())
def test_a_hash_goes_on_from_that_of_the_beginning(begin: str, end: str) -> None:
    assert java_string_hash_after(java_string_hash(begin), end) == java_string_hash(begin + end)


def test_the_smallest_int32_has_absolute_value_zero() -> None:
    assert java_abs(-(2**31)) == 0
    assert group_partition_for("polygenelubricants", 50) == 0
    assert group_partition_for("hello", 50) == 22
