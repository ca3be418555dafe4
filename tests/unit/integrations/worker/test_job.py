from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from shareq.client.aio.early import not_before_s
from shareq.protocol.names import NOT_BEFORE
from shareq.worker import Later, Message, Reject, Retry
from shareq.worker.job import (
    HandlerTimeout,
    Ruling,
    Undecodable,
    Verdict,
    WorkerDied,
    call_of,
    decoded,
    encoded,
    not_before,
    ruling,
)

ACCEPT, RELEASE, REJECT = Ruling(Verdict.ACCEPT), Ruling(Verdict.RELEASE), Ruling(Verdict.REJECT)


def message(value: bytes | None) -> Message:
    return Message("t", 0, 7, None, value, (), -1, 1)


@pytest.mark.parametrize(
    ("retry", "error", "attempt", "group_delays", "expected"),
    [
        (Retry(), None, 1, False, ACCEPT),
        (Retry(), ValueError(), 1, False, RELEASE),
        (Retry(), ValueError(), 99, False, RELEASE),  # the group's own limit counts
        (Retry(max=0), ValueError(), 1, False, REJECT),
        (Retry(max=2), ValueError(), 2, False, RELEASE),
        (Retry(max=2), ValueError(), 3, False, REJECT),
        (Retry(max=2), HandlerTimeout(), 2, False, RELEASE),
        (Retry(max=2), HandlerTimeout(), 3, False, REJECT),
        (Retry(max=2, on=(KeyError,)), ValueError(), 1, False, REJECT),
        (Retry(max=2, on=(KeyError,)), KeyError(), 1, False, RELEASE),
        (Retry(max=2, on=(KeyError,)), WorkerDied(), 1, False, RELEASE),  # no exception of the handler's
        (Retry(), Reject("never"), 1, False, REJECT),
        (Retry(), Undecodable("no JSON"), 1, False, REJECT),
        (Retry(max=0), Later(4), 9, True, Ruling(Verdict.RELEASE, 4)),
        (Retry(delay=3), ValueError(), 1, False, Ruling(Verdict.RELEASE, 3)),
        (Retry(delay=3), ValueError(), 3, False, Ruling(Verdict.RELEASE, 12)),
        (Retry(delay=3), ValueError(), 3, True, RELEASE),
        (Retry(delay=3, longest=5), ValueError(), 4, False, Ruling(Verdict.RELEASE, 5)),
        (Retry(delay=3, longest=5), ValueError(), 5000, False, Ruling(Verdict.RELEASE, 5)),
    ],
)
def test_rulings(retry: Retry, error: BaseException | None, attempt: int, group_delays: bool, expected: Ruling) -> None:
    assert ruling(retry, error, attempt, group_delays=group_delays) == expected


@pytest.mark.parametrize("wrong", [{"max": -1}, {"delay": -1}, {"factor": 0.5}, {"longest": -1}])
def test_a_retry_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Retry"):
        Retry(**wrong)


def test_values_are_decoded() -> None:
    assert decoded(message(b'{"n": 1}'), "json") == {"n": 1}
    assert decoded(message("é".encode()), "text") == "é"
    assert decoded(message(b"\xff"), "bytes") == b"\xff"
    assert decoded(message(None), "bytes") is None
    assert decoded(message(None), "text") is None


@pytest.mark.parametrize(("value", "decode"), [(b"{", "json"), (None, "json"), (b"\xff", "json"), (b"\xff", "text")])
def test_what_cannot_be_decoded_names_its_place(value: bytes | None, decode: Any) -> None:
    with pytest.raises(Undecodable, match=f"^not {decode}: "):
        decoded(message(value), decode)


def test_values_are_encoded() -> None:
    assert encoded({"n": [1, None]}) == b'{"n":[1,null]}'
    assert (encoded("é"), encoded(b"\xff"), encoded(None)) == ("é".encode(), b"\xff", None)
    with pytest.raises(TypeError):
        encoded(object())


def test_a_handler_takes_the_value_or_the_value_and_the_message() -> None:
    def value_only(value: bytes) -> list[Any]:
        return [value]

    def both(value: bytes, message: Message) -> list[Any]:
        return [value, message.offset]

    def with_default(value: bytes, retries: int = 3) -> list[Any]:
        return [value, retries]

    assert call_of(value_only, "bytes")(message(b"x")) == [b"x"]
    assert call_of(both, "bytes")(message(b"x")) == [b"x", 7]
    assert call_of(with_default, "bytes")(message(b"x")) == [b"x", 3]


@pytest.mark.parametrize("function", [lambda: None, lambda a, b, c: None, lambda *, a: None])
def test_other_functions_are_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="a handler takes"):
        call_of(function, "bytes")


def test_an_unknown_decoding_is_refused() -> None:
    with pytest.raises(ValueError, match="'xml': must be one of bytes, text, json"):
        call_of(lambda value: None, "xml")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("delay", "eta", "expected_ms"),
    [
        (0, None, 1_000_000),
        (1.5, None, 1_001_500),
        (-3, None, 997_000),
        (-3_000_000, None, 0),
        (None, datetime(1970, 1, 1, 0, 20, tzinfo=UTC), 1_200_000),
        (None, datetime(1970, 1, 1, 2, 20, tzinfo=timezone(timedelta(hours=2))), 1_200_000),
    ],
)
def test_a_delay_and_a_time_become_a_header_that_is_read_again(
    delay: float | None, eta: datetime | None, expected_ms: int
) -> None:
    header = not_before(delay, eta, now_s=1000.0)
    assert header == {NOT_BEFORE: str(expected_ms)}
    assert not_before_s([("other", b"1"), (NOT_BEFORE, header[NOT_BEFORE].encode())]) == expected_ms / 1000


def test_without_either_there_is_no_header_and_work_begins_at_once() -> None:
    assert not_before(None, None, now_s=1000.0) == {}
    assert not_before_s([("other", b"1")]) == 0


@pytest.mark.parametrize(
    ("delay", "eta"),
    [
        (1, datetime(2030, 1, 1, tzinfo=UTC)),
        (None, datetime(2030, 1, 1)),
        (float("nan"), None),
        (float("inf"), None),
        (1e30, None),
    ],
)
def test_a_time_that_cannot_be_is_refused(delay: float | None, eta: datetime | None) -> None:
    with pytest.raises(ValueError, match="must"):
        not_before(delay, eta, now_s=1000.0)


@pytest.mark.parametrize("value", [None, b"", b"soon", b"-5", b"1.5", b"inf", b"9" * 16, "٣".encode()])
def test_nonsense_in_the_header_delays_nothing(value: bytes | None) -> None:
    assert not_before_s([(NOT_BEFORE, value)]) == 0
