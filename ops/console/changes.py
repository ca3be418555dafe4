"""Changes by users with the console's token: redrives, pauses, resets, deletions confirmed by typing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from shareq.client.admin import Admin
from shareq.client.admin.calls import Outcome, Partition, only
from shareq.client.admin.places import FORMS, offsets_of, parse_place
from shareq.client.errors import ClientError
from shareq.ops.console.views.shared import Json, Look, WrongRequest
from shareq.protocol.generated.start_redrive import StartRedriveRequest

Body = Mapping[str, Any]
MAX_PER_SECOND: Final = 1_000_000


def _text(body: Body, name: str, default: str | None = None) -> str:
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or not value:
        raise WrongRequest(f"{name} is missing")
    return value


def _number(body: Body, name: str, default: int, highest: int = 2**63 - 1) -> int:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= highest:
        raise WrongRequest(f"{name}: must be a whole number from 0 to {highest}")
    return value


def _confirmed(body: Body, name: str) -> None:
    """Raise WrongRequest unless the user has typed the object's name."""
    if body.get("confirm") != name:
        raise WrongRequest(f"confirm: type {name} to go on")


def redrive(body: Body) -> Look:
    """Begin a redrive of all letters of a queue, of one partition's, or of one letter."""
    queue, group = _text(body, "queue"), body.get("group")
    partition, offset = _number(body, "partition", -1, 2**31 - 1), _number(body, "offset", -1)
    if offset >= 0 and partition < 0:
        raise WrongRequest("partition is missing: the letter's offset is one of a partition")
    to_group = body.get("to_group") is True
    if group is not None and not isinstance(group, str):
        raise WrongRequest("group: must be a text")
    if to_group and not group:
        raise WrongRequest("group is missing: to_group needs it")
    per_second = _number(body, "per_second", 100, MAX_PER_SECOND)
    name = _text(body, "name")
    request = StartRedriveRequest(
        name,
        queue,
        partition,
        first_offset=offset,
        last_offset=offset,
        group_id=group or None,
        source_topic=body.get("source_topic") or None,
        reason=body.get("reason") or None,
        died_from_ms=-1,
        died_until_ms=-1,
        target=int(to_group),
        records_per_second=max(1, per_second),
    )

    def look(admin: Admin) -> Json:
        admin.redrives.start(request)
        return {"redrive": name}

    return look


def cancel_redrive(body: Body) -> Look:
    """Stop a redrive; unsent letters stay."""
    name = _text(body, "name")

    def look(admin: Admin) -> Json:
        admin.redrives.cancel(name)
        return {"redrive": name}

    return look


def pause_share_group(body: Body) -> Look:
    """Stop handing out records to a share group."""
    return _pause(body, lambda admin: admin.share_groups.pause, paused=True)


def resume_share_group(body: Body) -> Look:
    """Deliver records to a share group again."""
    return _pause(body, lambda admin: admin.share_groups.resume, paused=False)


def _pause(
    body: Body, change_of: Callable[[Admin], Callable[[list[str]], Mapping[str, Outcome[bool]]]], *, paused: bool
) -> Look:
    name = _text(body, "group")

    def look(admin: Admin) -> Json:
        only(change_of(admin)([name]), name)
        return {"group": name, "paused": paused}

    return look


def delete_groups(body: Body) -> Look:
    """Delete a group without members, with its offsets."""
    name = _text(body, "group")
    _confirmed(body, name)

    def look(admin: Admin) -> Json:
        only(dict(admin.groups.delete([name])), name)
        return {"group": name}

    return look


def delete_topic(body: Body) -> Look:
    """Delete a topic with all its records."""
    name = _text(body, "topic")
    _confirmed(body, name)

    def look(admin: Admin) -> Json:
        only(admin.topics.delete([name]), name)
        return {"topic": name}

    return look


def reset_share_group(body: Body) -> Look:
    """Move a share group without members to another place."""
    return _reset(body, _begun_by_share_group, lambda admin: admin.share_groups.alter_offsets)


def reset_consumer_group(body: Body) -> Look:
    """Move a consumer group without members to another place."""
    return _reset(body, _begun_by_consumer_group, lambda admin: admin.consumer_groups.alter_offsets)


Alter = Callable[[str, Mapping[Partition, int]], dict[Partition, Outcome[int]]]


def _reset(body: Body, begun: Callable[[Admin, str], Iterable[Partition]], alter_of: Callable[[Admin], Alter]) -> Look:
    """Reset all partitions that the group has begun, those of `topic`, or one. `to` is the new place."""
    name, to = _text(body, "group"), _text(body, "to")
    _confirmed(body, name)
    topic, partition = body.get("topic"), _number(body, "partition", -1, 2**31 - 1)
    try:
        at = parse_place(to, time.time_ns() // 1_000_000)
    except ValueError:
        raise WrongRequest(f"to {to[:40]}: must be {FORMS}") from None

    def look(admin: Admin) -> Json:
        wanted = [
            each for each in sorted(begun(admin, name)) if topic in (None, each[0]) and partition in (-1, each[1])
        ]
        if not wanted:
            raise WrongRequest(f"group {name} has begun none of these partitions")
        found = offsets_of(admin, at, wanted)
        offsets = {each: one for each, one in found.items() if not isinstance(one, ClientError)}
        altered = alter_of(admin)(name, offsets) if offsets else {}
        return {"group": name, "partitions": [_altered(each, altered.get(each, found[each])) for each in wanted]}

    return look


def _altered(partition: Partition, outcome: Outcome[int]) -> Json:
    failed = isinstance(outcome, ClientError)
    return {
        "topic": partition[0],
        "partition": partition[1],
        "offset": None if failed else outcome,
        "error": str(outcome) if failed else None,
    }


def _begun_by_share_group(admin: Admin, name: str) -> Iterable[Partition]:
    only(dict(admin.share_groups.describe([name])), name)  # raises for a group that does not exist
    return only(dict(admin.share_groups.offsets([name])), name)


def _begun_by_consumer_group(admin: Admin, name: str) -> Iterable[Partition]:
    only(dict(admin.consumer_groups.describe([name])), name)
    return only(dict(admin.consumer_groups.offsets([name])), name)
