"""The check of Celery's tasks in messages, and the time when a task is due. Pure.

Celery itself rejects a task with faults that it finds on receipt. A fault that it finds later (a time limit that is no
number) ends its worker; one that it does not check (an ETA in a thousand years) keeps the task there forever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from shareq.client.aio.early import TOO_FAR
from shareq.protocol.names import NOT_BEFORE
from shareq.protocol.records.record_codec import Headers

MOST_DEPTH: Final = 400
"""The deepest nesting of lists and objects: deeper ones cannot be pickled for the pool if its stack is already deep."""
_TEXTS: Final = ("root_id", "parent_id", "group", "shadow")


def fields_of(headers: Mapping[str, Any], payload: Any) -> Mapping[str, Any] | None:
    """Return the mapping from which Celery takes a task's fields, None for a message that is not a task.

    These are the headers; in Celery's first protocol, the body. If both have the fields, the headers count.
    """
    if isinstance(payload, dict) and ("task" in payload or "args" in payload):
        return {**payload, **headers}
    return headers if "task" in headers else None


def fault(headers: Mapping[str, Any], payload: Any, now_s: float, max_delay_s: float) -> str | None:
    """Return why a worker must not get a message, without its values; None if it may.

    `payload` is the decoded body, None for a body that is not decoded here. A message that is no task has no fault.
    """
    fields = fields_of(headers, payload)
    if fields is None:
        return None
    if _depth_over(MOST_DEPTH, headers, payload):
        return f"its lists and objects are more than {MOST_DEPTH} deep"
    return _fault_of_fields(fields) or _fault_of_body(headers, payload) or _fault_of_times(fields, now_s, max_delay_s)


def due_s(fields: Mapping[str, Any]) -> float | None:
    """Return when a task without fault is due, in seconds since the epoch, None for at once."""
    eta = time_of(fields.get("eta"))
    return None if eta is None else eta.timestamp()


def not_before(headers: Mapping[str, Any]) -> Headers:
    """Return the headers of a task's record.

    With an ETA, they let a broker with delays keep the record until then; {} otherwise.
    """
    try:
        eta = time_of(headers.get("eta")) if "task" in headers else None
    except ValueError:  # the worker rejects it, and says why
        return ()
    return () if eta is None else ((NOT_BEFORE, b"%d" % max(0, math.ceil(eta.timestamp() * 1000))),)


def time_of(value: Any) -> datetime | None:
    """Read a time in Celery's format; it is UTC if it names no zone. Raises ValueError for other text."""
    if value is None:
        return None
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("no time") from None


def _fault_of_fields(fields: Mapping[str, Any]) -> str | None:
    if not isinstance(fields.get("task"), str):
        return "task must be a string"
    if not isinstance(fields.get("id"), str | int):
        return "id must be a string"
    for name in _TEXTS:
        if not isinstance(fields.get(name), str | int | None):
            return f"{name} must be a string"
    if not isinstance(fields.get("retries"), int | None):
        return "retries must be a whole number"
    limits = fields.get("timelimit")
    if limits and not (isinstance(limits, list | tuple) and len(limits) == 2 and all(map(_is_limit, limits))):
        return "timelimit must be two numbers of seconds, each 0 or more, or null"
    return _fault_of_stamps(fields)


def _fault_of_stamps(fields: Mapping[str, Any]) -> str | None:
    stamped, stamps = fields.get("stamped_headers"), fields.get("stamps")
    if not isinstance(stamped, list | tuple | None) or not all(isinstance(name, str) for name in stamped or ()):
        return "stamped_headers must be a list of strings"
    if not isinstance(stamps, dict | None) or not all(name in (stamps or ()) for name in stamped or ()):
        return "stamps must be an object with each of stamped_headers"
    return None


def _fault_of_body(headers: Mapping[str, Any], payload: Any) -> str | None:
    if payload is None:
        return None
    if isinstance(payload, dict):  # the first protocol
        args, kwargs, embed = payload.get("args") or [], payload.get("kwargs") or {}, None
    elif isinstance(payload, list) and len(payload) == 3:
        args, kwargs, embed = payload
    else:
        return "its body must be a list of args, kwargs and an object"
    if not isinstance(args, list) or not isinstance(kwargs, dict) or not isinstance(embed, dict | None):
        return "args must be a list, kwargs and what follows them objects"
    return None


def _fault_of_times(fields: Mapping[str, Any], now_s: float, max_delay_s: float) -> str | None:
    for name in ("eta", "expires"):
        try:
            time_of(fields.get(name))
        except ValueError:
            return f"{name} must be a time in ISO 8601, in the years 1 to 9999"
    due = due_s(fields)
    if due is not None and due - now_s > max_delay_s:
        return TOO_FAR % ("eta", time_of(fields["eta"]), max_delay_s)
    return None


def _is_limit(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and 0 <= value <= 1e9 and math.isfinite(value))


def _depth_over(most: int, *values: Any) -> bool:
    level = [value for value in values if isinstance(value, dict | list)]
    for _ in range(most):
        if not level:
            return False
        inner: list[Any] = []
        for each in level:
            inner += [item for item in (each.values() if isinstance(each, dict) else each) if isinstance(item, _DEEP)]
        level = inner
    return bool(level)


_DEEP: Final = (dict, list)
