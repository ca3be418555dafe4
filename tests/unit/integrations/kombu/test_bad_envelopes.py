"""Records that are not messages of kombu, or not tasks for Celery: found before kombu or Celery sees them."""

from __future__ import annotations

import contextlib
import json
import logging
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kombu.message import Message
from kombu.transport.virtual import Base64

from shareq.kombu.channel import heard_from
from shareq.kombu.envelope import NotAMessage, expired, packed, unpacked
from shareq.kombu.tasks import fault
from shareq.protocol.records.record_codec import Record
from tests.support.bad_records.kombu_envelopes import envelope, kombu_envelopes

NOW_S = 1_000_000_000.0
DAY_S = 86_400.0


def value(**changes: Any) -> bytes:
    message = envelope("tasks.add")
    for name, change in changes.items():
        if name in message["properties"]:
            message["properties"][name] = change
        else:
            message[name.replace("_", "-")] = change
    return json.dumps(message).encode()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (value(headers=5), "headers must be an object"),
        (value(body=5), "body must be a string"),
        (value(body="A"), "body is not as properties.body_encoding says"),
        (value(body_encoding="rot13"), "properties.body_encoding must be one of base64, utf-8"),
        (value(delivery_info=5), "properties.delivery_info must be an object"),
        (value(delivery_info={"exchange": []}), "properties.delivery_info: exchange must not be an object or a list"),
        (value(reply_to=[]), "properties: reply_to must not be an object or a list"),
        (value(content_type=[]), "content-type must be a string"),
        (value(headers={"__type__": "uuid", "__value__": 5}), "its value is no JSON of kombu (TypeError)"),
        (value(headers={"__type__": "decimal", "__value__": "x"}), "its value is no JSON of kombu (InvalidOperation)"),
        (value(headers={"__type__": [], "__value__": 5}), "its value is no JSON of kombu (TypeError)"),
        (b"[" * 100_000, "its value is no JSON of kombu (RecursionError)"),
        (b"[]", "its value is no JSON object"),
        (None, "its value is no JSON of kombu (JSONDecodeError)"),
    ],
)
def test_a_record_that_is_no_message_is_named_by_its_reason(bad: bytes | None, reason: str) -> None:
    with pytest.raises(NotAMessage) as raised:
        unpacked(bad, 0)
    assert str(raised.value) == reason


def test_a_good_message_has_no_fault() -> None:
    found = unpacked(json.dumps(envelope("tasks.add")).encode(), 5)
    assert found["sent_ms"] == 5
    assert fault(found["headers"], [[1, 2], {}, {}], NOW_S, DAY_S) is None


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"task": []}, "task must be a string"),
        ({"id": None}, "id must be a string"),
        ({"root_id": []}, "root_id must be a string"),
        ({"retries": "x"}, "retries must be a whole number"),
        ({"timelimit": ["x", "y"]}, "timelimit must be two numbers of seconds, each 0 or more, or null"),
        ({"timelimit": [-1, 1]}, "timelimit must be two numbers of seconds, each 0 or more, or null"),
        ({"stamped_headers": ["x"]}, "stamps must be an object with each of stamped_headers"),
        ({"eta": ""}, "eta must be a time in ISO 8601, in the years 1 to 9999"),
        ({"eta": "33658-09-27T01:46:40+00:00"}, "eta must be a time in ISO 8601, in the years 1 to 9999"),
        ({"expires": 5}, "expires must be a time in ISO 8601, in the years 1 to 9999"),
        ({"eta": "2001-09-10T01:46:41"}, "eta is 2001-09-10 01:46:41+00:00: more than max_delay (86400 s) ahead"),
    ],
)
def test_a_task_that_celery_cannot_take_is_named_by_its_field(headers: dict[str, Any], reason: str) -> None:
    given = {**envelope("tasks.add")["headers"], **headers}
    assert fault(given, [[], {}, None], NOW_S, DAY_S) == reason


@pytest.mark.parametrize(
    "eta", ["2001-09-10T01:46:40", "2001-09-10T01:46:40Z", "2001-09-10T02:46:40+01:00", "1970-01-01"]
)
def test_an_eta_of_a_day_at_most_is_taken(eta: str) -> None:
    assert fault({**envelope("tasks.add")["headers"], "eta": eta}, [[], {}, None], NOW_S, DAY_S) is None


def test_the_first_protocol_has_its_fields_in_the_body() -> None:
    body = {"task": "tasks.add", "id": "1", "args": [], "kwargs": {}}
    assert fault({}, body, NOW_S, DAY_S) is None
    assert fault({}, {**body, "eta": "9999-12-31"}, NOW_S, DAY_S) is not None
    assert fault({}, {**body, "kwargs": 5}, NOW_S, DAY_S) == "args must be a list, kwargs and what follows them objects"


def test_what_is_no_task_is_the_consumers_own() -> None:
    assert fault({"id": []}, {"any": "thing"}, NOW_S, DAY_S) is None


def test_a_body_that_cannot_be_pickled_for_the_pool_is_found() -> None:
    deep = json.loads("[" * 450 + "]" * 450)
    given = envelope("tasks.add")["headers"]
    assert fault(given, [[deep], {}, None], NOW_S, DAY_S) == "its lists and objects are more than 400 deep"


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_record_holds_is_a_message_that_kombu_takes_or_a_reason(seed: int) -> None:
    taken = 0
    for data in kombu_envelopes(Random(seed), 100):
        try:
            message = unpacked(data, 0)
        except NotAMessage:
            continue
        taken += 1
        _as_kombu_takes_it(message)
    assert 0 < taken < 100


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=50) | _JSON.map(lambda found: json.dumps(found).encode()))
def test_any_bytes_are_a_message_or_a_reason(data: bytes) -> None:
    with contextlib.suppress(NotAMessage):
        _as_kombu_takes_it(unpacked(data, 0))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(envelope("t")["headers"])), _JSON, _JSON)
def test_any_field_of_a_task_is_taken_or_a_reason(name: str, field: Any, payload: Any) -> None:
    found = fault({**envelope("t")["headers"], name: field}, payload, NOW_S, DAY_S)
    assert found is None or len(found) < 120


@pytest.mark.parametrize("expiration", [float("inf"), "x" * 10, "9" * 5_000, True, None])
def test_a_time_to_live_that_is_none_is_never_over(expiration: Any) -> None:
    assert not expired({"sent_ms": 2**62, "properties": {"expiration": expiration}}, 5)


def test_of_an_exchange_what_is_no_message_is_skipped_with_a_line(caplog: pytest.LogCaptureFixture) -> None:
    good = packed({"body": "", "properties": {}})
    with caplog.at_level(logging.WARNING):
        assert heard_from(Record(7, 0, None, b"[" * 100_000, ()), "news") is None
        assert heard_from(Record(8, 0, None, good, (("routing_key", b"\xff"),)), "news") is None
    assert [each.getMessage() for each in caplog.records] == [
        "news-0@7: its value is no JSON of kombu (RecursionError): skipped",
        "news-0@8: its routing key is no UTF-8: skipped",
    ]
    assert heard_from(Record(9, 0, None, good, ()), "news") is not None


def _as_kombu_takes_it(message: dict[str, Any]) -> None:
    """Read the message with the first steps of `kombu.transport.virtual.Message` and Celery's on_task_received."""
    properties = message["properties"]
    body = message.get("body")
    if body and properties.get("body_encoding") == "base64":
        body = Base64().decode(body)
    properties["delivery_info"]["redelivered"] = False
    made = Message(body=body, headers=message.get("headers"), properties=properties, postencode="utf-8")
    made.headers.get("task")
    expired(message, 0)
    repr(made)
