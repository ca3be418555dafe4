"""Topics: the list, and one topic with its partitions and configs."""

from __future__ import annotations

from shareq.client.admin import Admin
from shareq.client.admin.calls import only
from shareq.client.admin.configs import Config
from shareq.client.admin.topics import TopicInfo
from shareq.client.errors import ClientError
from shareq.ops.console.views.shared import MAX_ROWS, Json, Look, ends_of, page_of
from shareq.protocol.primitives import uuid_to_text


def topics(search: str, page: int, internal: bool) -> Look:
    """Return the view of a page of the topics whose names contain `search`."""

    def look(admin: Admin) -> Json:
        known = {topic.name: topic for topic in admin.topics.all() if internal or not topic.internal}
        shown = page_of(known, search, page)
        return {"total": shown.total, "rows": [_row(known[name]) for name in shown.rows]}

    return look


def _row(topic: TopicInfo) -> Json:
    return {
        "topic": topic.name,
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replicas": max((len(each.replicas) for each in topic.partitions), default=0),
        "without_leader": sum(each.leader is None for each in topic.partitions),
        "under_replicated": sum(len(each.in_sync) < len(each.replicas) for each in topic.partitions),
    }


def topic(name: str) -> Look:
    """Return the view of a topic, at most MAX_ROWS of its partitions, and its configs."""

    def look(admin: Admin) -> Json:
        found = only(dict(admin.topics.describe([name])), name)
        shown = found.partitions[:MAX_ROWS]
        ends = ends_of(admin, [(name, each.partition) for each in shown])
        rows = []
        for each in shown:
            start, end = ends[name, each.partition]
            rows.append({**each._asdict(), "start": start, "end": end})
        return {
            "topic": name,
            "topic_id": uuid_to_text(found.topic_id),
            "internal": found.internal,
            "total": len(found.partitions),
            "partitions": rows,
            **_configs(admin, name),
        }

    return look


def _configs(admin: Admin, name: str) -> Json:
    """Return configs by name, or an error if the console's login may not see them."""
    (outcome,) = dict(admin.configs.describe([("topic", name)])).values()
    if isinstance(outcome, ClientError):
        return {"configs": [], "configs_error": str(outcome)}
    return {"configs": [_config(each) for each in outcome], "configs_error": None}


def _config(config: Config) -> Json:
    return {
        "name": config.name,
        "value": config.value,
        "source": config.source,
        "set_here": config.source == "topic",
        "sensitive": config.sensitive,
    }
