"""The usable API versions: those that both the brokers and this release know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from shareq.broker.foundation.handler_rows import HandlerRow, VersionRange
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.generated.api_versions import ApiVersionsResponse

Offered = Mapping[int, tuple[int, int]]
"""The first and last version of each API that a broker serves, by key."""

_OF_CLUSTERS: Final = ("metadata.version", "transaction.version", "group.version")
"""The features of which a node reports the cluster's levels: it leaves metadata, transactions and other groups to the
cluster.
"""


class Served(NamedTuple):
    """The versions that every broker of a cluster serves, and the levels of its features."""

    versions: Offered
    features: Mapping[str, int]


def newest_of(api_key: int, offered: Offered) -> int | None:
    """Return the highest stable version of an API that both a broker and this release know; None if there is none."""
    known = codec(api_key)
    versions = offered.get(api_key)
    if versions is None:
        return None
    newest = min(known.max_version - known.latest_version_unstable, versions[1])
    return newest if newest >= max(known.min_version, versions[0]) else None


def served_by_all(answers: Iterable[ApiVersionsResponse]) -> Served:
    """Return the versions and features that all brokers with these answers serve.

    The level of a feature is the lowest one of all brokers.
    """
    versions: dict[int, tuple[int, int]] | None = None
    levels: dict[str, int] | None = None
    for answer in answers:
        offered = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
        named = {row.name: row.max_version_level for row in answer.finalized_features}
        if versions is None or levels is None:
            versions, levels = offered, named
            continue
        versions = {
            key: (max(first, offered[key][0]), min(last, offered[key][1]))
            for key, (first, last) in versions.items()
            if key in offered
        }
        levels = {name: min(level, named.get(name, 0)) for name, level in levels.items()}
    return Served(
        {key: (first, last) for key, (first, last) in (versions or {}).items() if first <= last}, levels or {}
    )


def cut_to(
    served: Served, rows: Mapping[ApiKey, HandlerRow], forwarded: Collection[ApiKey]
) -> dict[ApiKey, HandlerRow]:
    """Return the rows of a table, those of forwarded RPCs cut to the versions that the cluster also serves.

    A forwarded RPC without a common version is left out.
    """
    cut: dict[ApiKey, HandlerRow] = {}
    for key, row in rows.items():
        if key not in forwarded:
            cut[key] = row
        elif (both := _both(row.served, served.versions.get(key))) is not None:
            cut[key] = row.within(*both)
    return cut


def _both(ours: VersionRange, theirs: tuple[int, int] | None) -> VersionRange | None:
    if theirs is None:
        return None
    first, last = max(ours.first, theirs[0]), min(ours.last, theirs[1])
    return VersionRange(first, last) if first <= last else None


def features_of_cluster(served: Served) -> dict[str, int]:
    """Return the features that a node reports with the cluster's levels."""
    return {name: served.features.get(name, 0) for name in _OF_CLUSTERS}
