"""A row of a table of RPCs: which module serves one, and in which versions."""

from __future__ import annotations

from typing import Final


class VersionRange:
    """Versions of an RPC, both ends inclusive."""

    __slots__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first: Final = first
        self.last: Final = last

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionRange) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def __repr__(self) -> str:
        return f"VersionRange({self.first}, {self.last})"


class HandlerRow:
    """One RPC: the module of its handler by its whole name, the versions it serves, and those that ApiVersions names.

    The advertised range may reach below the served one: clients on old librdkafka test for fixed versions that no
    client sends any more (KIP-896, KAFKA-18659). A request in such a version closes the connection. `own`: shareq's
    own, which only shareq's clients are shown.
    """

    __slots__ = ("advertised", "module", "own", "served")

    def __init__(
        self, module: str, first: int, last: int, *, advertised_first: int | None = None, own: bool = False
    ) -> None:
        self.module = module
        self.own = own
        self.served = VersionRange(first, last)
        self.advertised = VersionRange(first if advertised_first is None else advertised_first, last)
