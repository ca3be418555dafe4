"""The hash of names in Java, by which Apache Kafka finds the partitions of its internal topics."""

from __future__ import annotations

from operator import mul
from struct import unpack

_POWERS: list[int] = [1]


def java_string_hash(text: str) -> int:
    """Return Java's `String.hashCode`: the 31-polynomial over UTF-16 code units in signed 32-bit arithmetic."""
    return java_string_hash_after(0, text)


def java_string_hash_after(before: int, text: str) -> int:
    """Return the hash of a string that ends with `text`; `before` is the hash of the part before it."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    units = unpack(f">{len(encoded) // 2}H", encoded)
    while len(_POWERS) <= len(units):
        _POWERS.append(_POWERS[-1] * 31 & 0xFFFFFFFF)
    unsigned: int = (before * _POWERS[len(units)] + sum(map(mul, reversed(units), _POWERS))) & 0xFFFFFFFF
    return unsigned - 0x100000000 if unsigned & 0x80000000 else unsigned


def java_abs(value: int) -> int:
    """Return Kafka's `Utils.abs`; for the smallest int32, which has no positive counterpart, it is 0."""
    return 0 if value == -0x80000000 else abs(value)
