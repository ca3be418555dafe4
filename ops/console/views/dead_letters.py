"""Dead letters: the queues, the letters of one, and redrives, which only shareq has."""

from __future__ import annotations

from collections.abc import Mapping

from shareq.client.admin import Admin
from shareq.client.admin.calls import Partition, total
from shareq.client.admin.redrives import Queue, letter_of
from shareq.client.errors import ClientError, UnsupportedApi
from shareq.ops.console.views.records import records as records_of
from shareq.ops.console.views.records import row_of, search_of
from shareq.ops.console.views.shared import Json, Look, ends_of, required
from shareq.protocol.records.record_codec import Record


def dead_letters(admin: Admin) -> Json:
    """Return the queues with their numbers of letters, and all redrives; `redrives` is None if the cluster has none."""
    return {"queues": queues_of(admin), "redrives": _redrives(admin)}


def queues_of(admin: Admin) -> list[Json]:
    """Return the queues, each with its groups and number of letters."""
    queues = admin.redrives.queues()
    existing = [queue.topic for queue in queues if queue.exists]
    partitions = [
        (name, each.partition)
        for name, topic in admin.topics.describe(existing)
        if not isinstance(topic, ClientError)
        for each in topic.partitions
    ]
    ends = ends_of(admin, partitions)
    letters = {
        name: total(
            None if start is None or end is None else end - start
            for (topic, _), (start, end) in ends.items()
            if topic == name
        )
        for name in existing
    }
    return [_queue(each, letters.get(each.topic)) for each in queues]


def _queue(queue: Queue, letters: int | None) -> Json:
    return {**queue._asdict(), "letters": letters}


def _redrives(admin: Admin) -> list[Json] | None:
    try:
        found = list(admin.redrives.find())
    except UnsupportedApi:
        return None
    return [{**one._asdict(), "counts": dict(one.counts)} for _, one in found if not isinstance(one, ClientError)]


def letters(given: Mapping[str, str]) -> Look:
    """Return letters of a queue: the records, the content of their headers, and `sent` if a redrive has sent them back.

    `group` and `reason` match parts of texts, in any case.
    """
    queue = required(given, "queue")
    search = search_of({**given, "topic": queue})
    group, reason = given.get("group", "").lower(), given.get("reason", "").lower()

    def look(admin: Admin) -> Json:
        sent = admin.redrives.sent_back_from(queue)

        def letter(partition: Partition, record: Record, most: int) -> Json:
            said = letter_of(record.headers)
            is_sent = sent.has(partition[1], record.offset, said, record.timestamp)
            return {**row_of(partition, record, most), "letter": said._asdict(), "sent": is_sent}

        found = records_of(search, letter)(admin)
        wanted = [row for row in found.pop("records") if _is_wanted(row["letter"], group, reason)]
        return {**found, "letters": wanted}

    return look


def _is_wanted(letter: Json, group: str, reason: str) -> bool:
    said = f"{letter['reason'] or ''} {letter['disposition'] or ''} {letter['error'] or ''}".lower()
    return group in (letter["group"] or "").lower() and reason in said
