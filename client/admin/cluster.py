"""The cluster itself: its brokers, how full their disks are, and its features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq import __version__
from shareq.client.admin.calls import Calls, refused
from shareq.client.errors import ClientError, UnsupportedApi
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from shareq.protocol.generated.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from shareq.protocol.generated.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2


class BrokerInfo(NamedTuple):
    """A broker. Sizes are in bytes, of all its partitions and of their volumes; None if the broker does not report
    them.
    """

    node: int
    host: str
    port: int
    rack: str | None
    controller: bool
    log_bytes: int | None
    free_bytes: int | None


class Cluster(NamedTuple):
    """A cluster and its brokers, by node id."""

    cluster_id: str
    controller: int | None
    brokers: tuple[BrokerInfo, ...]


class Feature(NamedTuple):
    """A feature: the level in force, 0 for none, and the lowest and highest level that the broker supports."""

    name: str
    level: int
    lowest: int
    highest: int


class ClusterInfo:
    """A cluster, and its properties as a whole."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def describe(self) -> Cluster:
        """Return the brokers. A broker that may not be asked for its log folders, or cannot, has no sizes."""
        answer = self._calls.any(DescribeClusterRequest(), DescribeClusterResponse, "cluster")
        controller = answer.controller_id if answer.controller_id >= 0 else None
        sizes = self._sizes([row.broker_id for row in answer.brokers])
        brokers = [
            BrokerInfo(row.broker_id, row.host, row.port, row.rack, row.broker_id == controller, *sizes[row.broker_id])
            for row in sorted(answer.brokers, key=lambda one: one.broker_id)
        ]
        return Cluster(answer.cluster_id, controller, tuple(brokers))

    def _sizes(self, nodes: list[int]) -> dict[int, tuple[int | None, int | None]]:
        found: dict[int, tuple[int | None, int | None]] = dict.fromkeys(nodes, (None, None))
        calls, request = self._calls, DescribeLogDirsRequest(None)
        try:
            answers = list(calls.brokers_each(request, DescribeLogDirsResponse, "log folders", nodes))
        except UnsupportedApi:  # nodes of `shareq serve --cluster` have no logs
            return found
        for node, outcome in answers:
            if isinstance(outcome, ClientError) or not outcome.results:
                continue
            log_bytes = sum(
                row.partition_size for each in outcome.results for topic in each.topics for row in topic.partitions
            )
            free = [each.usable_bytes for each in outcome.results if each.usable_bytes >= 0]
            found[node] = (log_bytes, sum(free) if free else None)
        return found

    def features(self) -> list[Feature]:
        """Return the features that some broker supports or that are in force, by name."""
        answer = self._calls.any(ApiVersionsRequest("shareq", __version__), ApiVersionsResponse, "features")
        levels = {row.name: row.max_version_level for row in answer.finalized_features}
        ranges = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
        return [Feature(name, levels.get(name, 0), *ranges.get(name, (0, 0))) for name in sorted(ranges | levels)]

    def set_features(self, levels: Mapping[str, int], *, dry_run: bool = False) -> None:
        """Raise or lower features, all or none; a feature is lowered only where nothing is lost. Raises BrokerError."""
        now = {feature.name: feature.level for feature in self.features()}
        updates = [
            FeatureUpdateKey(name, level, upgrade_type=_SAFE_DOWNGRADE if level < now.get(name, 0) else _UPGRADE)
            for name, level in levels.items()
        ]
        request = UpdateFeaturesRequest(self._calls.network.config.request_timeout_ms, updates, dry_run)
        answer = self._calls.controller(request, UpdateFeaturesResponse, "features")
        for row in answer.results:  # up to version 1; later answers have one error for all
            if error := refused(row.error_code, f"feature {row.feature}", row.error_message):
                raise error
