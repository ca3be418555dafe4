"""The row of an RPC in a table: its handler's module, and its versions."""

from __future__ import annotations

from typing import NamedTuple


class VersionRange(NamedTuple):
    """Versions of an RPC, both ends inclusive."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


class HandlerRow(NamedTuple):
    """One RPC: the module of its handler by its whole name, the versions it serves, and those that ApiVersions
    names.

    The advertised range may reach below the served one: clients on old librdkafka test for fixed versions that no
    client sends any more (KIP-896, KAFKA-18659). A request in such a version closes the connection. `own`: an RPC of
    shareq itself, which ApiVersions names only to shareq's clients. `ends_with_client`: a handler that waits or
    pauses may be dropped when its client disconnects, as it changes nothing that could be left half done. `feature`:
    the RPC is served only with a level above 0 of this feature.
    """

    module: str
    served: VersionRange
    advertised: VersionRange
    own: bool = False
    ends_with_client: bool = False
    feature: str = ""

    def within(self, first: int, last: int) -> HandlerRow:
        """Return the row with other served versions. The advertised versions below them stay, since no client sends
        those.
        """
        below = self.advertised.first < self.served.first
        advertised = VersionRange(self.advertised.first if below else first, last)
        return self._replace(served=VersionRange(first, last), advertised=advertised)
