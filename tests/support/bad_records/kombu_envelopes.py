"""Record values that look like messages of kombu or Celery but are malformed in one or more ways.

Pure: a seed makes them. No task does harm: if one is accepted, it adds two numbers or has an unknown name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

DEEPEST: Final = 100_000
_FIELDS: Final = (
    *("body", "headers", "properties", "content-type", "content-encoding"),
    *("properties." + name for name in ("correlation_id", "reply_to", "delivery_mode", "delivery_info", "priority")),
    *("properties." + name for name in ("body_encoding", "delivery_tag", "expiration", "timestamp", "message_id")),
    *("properties.delivery_info." + name for name in ("exchange", "routing_key", "redelivered", "consumer_tag")),
    *("headers." + name for name in ("task", "id", "lang", "origin", "argsrepr", "kwargsrepr", "eta", "expires")),
    *("headers." + name for name in ("retries", "timelimit", "group", "root_id", "parent_id", "ignore_result")),
    *("headers." + name for name in ("stamped_headers", "stamps", "shadow", "compression", "clock", "ticket")),
    "headers.replaced_task_nesting",
)


def envelope(task: str) -> dict[str, Any]:
    body = json.dumps([[1, 2], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}])
    headers: dict[str, Any] = {
        "lang": "py",
        "task": task,
        "id": "bad",
        "root_id": "bad",
        "parent_id": None,
        "group": None,
        "retries": 0,
        "eta": None,
        "expires": None,
        "timelimit": [None, None],
        "argsrepr": "(1, 2)",
        "kwargsrepr": "{}",
        "origin": "bad@records",
        "ignore_result": True,
        "stamped_headers": None,
        "stamps": {},
        "shadow": None,
    }
    properties = {
        "correlation_id": "bad",
        "reply_to": "none",
        "delivery_mode": 2,
        "priority": 0,
        "delivery_tag": "1",
        "delivery_info": {"exchange": "", "routing_key": "bad"},
        "body_encoding": "base64",
    }
    return {
        "body": base64.b64encode(body.encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": properties,
    }


def kombu_envelopes(random: Random, count: int, task: str = "tasks.add") -> Iterator[bytes]:
    """Yield `count` values. The workers know a task named `task`, so that bad fields reach its code."""
    for _ in range(count):
        yield random.choice(_KINDS)(random, task)


def _no_message(random: Random, task: str) -> bytes:
    return random.choice(
        (
            b"",
            b"{",
            b"null",
            b"7",
            b"[]",
            b'"text"',
            b"\xff\xfe",
            b"9" * 5_000,
            random.randbytes(50),
            b"[" * DEEPEST,
            b"[" * DEEPEST + b"]" * DEEPEST,
            b'{"a":' * DEEPEST + b"1" + b"}" * DEEPEST,
            b'{"properties": 1}',
            json.dumps(_value(random)).encode(),
        )
    )


def _bad_fields(random: Random, task: str) -> bytes:
    message = envelope(task)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        _set(message, random.choice(_FIELDS), _value(random))
    return json.dumps(message).encode()


def _missing_fields(random: Random, task: str) -> bytes:
    message = envelope(task)
    for _ in range(random.choice((1, 1, 2, 5))):
        *way, last = random.choice(_FIELDS).split(".")
        place: Any = message
        for name in way:
            place = place.get(name, {})
        place.pop(last, None)
    return json.dumps(message).encode()


def _bad_body(random: Random, task: str) -> bytes:
    message = envelope(random.choice((task, task, "tasks.unknown")))
    depth = random.choice((200, 450, 900, DEEPEST))
    deep = json.loads("[]")
    for _ in range(min(depth, 200)):
        deep = [deep]
    body = random.choice(
        (
            json.dumps(_value(random)).encode(),
            json.dumps([_value(random), _value(random), _value(random)]).encode(),
            json.dumps([[1, 2], {}, {"callbacks": _value(random), "chord": _value(random), "id": []}]).encode(),
            b"[[" + b"[" * depth + b"]" * depth + b", 2], {}, null]",
            json.dumps([[deep, 2], {}, None]).encode(),
            b"[[1, 2], {}, {",
            b"\xff",
            b"",
            random.randbytes(100),
        )
    )
    message["body"] = base64.b64encode(body).decode()
    if random.random() < 0.3:
        message["content-type"] = random.choice(("application/x-python-serialize", "application/x-yaml", "a/b", ""))
    return json.dumps(message).encode()


def _first_protocol(random: Random, task: str) -> bytes:
    message = envelope(task)
    body = {"task": task, "id": "bad", "args": [1, 2], "kwargs": {}, "retries": 0, "eta": None, "expires": None}
    body |= {"timelimit": [None, None], "utc": True, "callbacks": None, "errbacks": None, "chord": None}
    for _ in range(random.choice((1, 2))):
        body[random.choice(sorted(body))] = _value(random)
    message["body"] = base64.b64encode(json.dumps(body).encode()).decode()
    message["headers"] = random.choice(({}, None, {"retries": _value(random)}))
    return json.dumps(message).encode()


def _far_eta(random: Random, task: str) -> bytes:
    message = envelope(task)
    text = random.choice(
        ("9999-12-31T23:59:59", "9999-12-31T23:59:59-14:00", "33658-09-27T01:46:40+00:00", "3000", "3000-01")
    )
    message["headers"]["eta"] = random.choice((text, {"__type__": "datetime", "__value__": text[:19]}))
    return json.dumps(message).encode()


def _set(message: dict[str, Any], way: str, value: Any) -> None:
    *names, last = way.split(".")
    place: Any = message
    for name in names:
        place = place.get(name)
        if not isinstance(place, dict):
            return
    place[last] = value


def _value(random: Random) -> Any:
    return random.choice(
        (
            *(
                None,
                True,
                False,
                0,
                -1,
                7,
                2**63,
                -(2**70),
                1e308,
                float("inf"),
                float("nan"),
                "",
                "x",
                "\x00",
                "\ud800",
            ),
            *(
                "../../x",
                "base64",
                "BASE64",
                "rot13",
                "zlib",
                "a" * 2_000,
                "9999-12-31T23:59:59",
                "0001-01-01T00:00:00+14:00",
            ),
            *([], [1], [[]], ["args"], {}, {"a": 1}, {"a": {"b": []}}, ["x", "y"], [-1, -1], [1e300, 1e300]),
            *({"__type__": each, "__value__": given} for each in _TYPES for given in _GIVEN),
        )
    )


_GIVEN: Final[tuple[Any, ...]] = (5, "x", [], {}, {"hex": 1})
_TYPES: Final[tuple[Any, ...]] = ("uuid", "datetime", "date", "time", "decimal", "bytes", "base64", "none", [], {})
_KINDS: Final[tuple[Callable[[Random, str], bytes], ...]] = (
    _no_message,
    _bad_fields,
    _bad_fields,
    _bad_fields,
    _missing_fields,
    _bad_body,
    _first_protocol,
    _far_eta,
)
