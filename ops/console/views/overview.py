"""The overview: the cluster, its brokers, nodes and features, the numbers of topics and groups, and the groups with the
greatest lag.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from shareq.client.admin import Admin
from shareq.ops.console.views.nodes import groups_and_nodes
from shareq.ops.console.views.share_groups import longest_lags
from shareq.ops.console.views.shared import Json, Look
from shareq.ops.console.views.windows import Windows

SHOWN: Final = 10
"""The number of share groups shown."""
MOST_GROUPS: Final = 200
"""The most share groups for which any are shown: to find the longest lags, every group has to be asked."""


def overview(windows: Windows) -> Look:
    """Return the view of the whole cluster; `share_groups` is None if there are too many of them. A broker that does
    not answer has a `problem`, and its groups are missing.

    Raises ClientError.
    """

    def look(admin: Admin) -> Json:
        groups, silent, nodes = groups_and_nodes(admin, windows)
        admin = admin.without(silent)
        cluster = admin.cluster.describe()
        topics = list(admin.topics.all())
        shared = {each.group_id: each.state for each in groups if each.kind == "share"}
        return {
            "cluster_id": cluster.cluster_id,
            "controller": cluster.controller,
            "brokers": [{**each._asdict(), "problem": silent.get(each.node)} for each in cluster.brokers],
            "nodes": nodes,
            "features": [each._asdict() for each in admin.cluster.features()],
            "topics": sum(not topic.internal for topic in topics),
            "internal_topics": sum(topic.internal for topic in topics),
            "partitions": sum(len(topic.partitions) for topic in topics),
            "without_leader": sum(each.leader is None for topic in topics for each in topic.partitions),
            "groups": dict(Counter(each.kind or "unknown" for each in groups)),
            "share_groups": longest_lags(admin, windows, shared, SHOWN) if len(shared) <= MOST_GROUPS else None,
        }

    return look
