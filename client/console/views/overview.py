"""The overview: the cluster, its brokers, its features, and how many topics and groups there are."""

from __future__ import annotations

from collections import Counter

from shareq.client.admin import Admin
from shareq.client.console.views.shared import Json


def overview(admin: Admin) -> Json:
    """Raises ClientError."""
    cluster = admin.cluster.describe()
    topics = list(admin.topics.all())
    kinds = Counter(group.kind or "unknown" for group in admin.groups.find())
    return {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": [each._asdict() for each in cluster.brokers],
        "features": [each._asdict() for each in admin.cluster.features()],
        "topics": sum(not topic.internal for topic in topics),
        "internal_topics": sum(topic.internal for topic in topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
        "without_leader": sum(each.leader is None for topic in topics for each in topic.partitions),
        "groups": dict(kinds),
    }
