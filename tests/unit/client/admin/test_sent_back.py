"""The headers of a redriven record, as written by the broker and possibly by others."""

from __future__ import annotations

import pytest

from shareq.broker.redrive.letter import letter_of, redriven
from shareq.broker.redrive.spec import Owner, RedriveSpec, Target
from shareq.client.admin.sent_back import SentBack, sent_back
from shareq.protocol.records.batch import Headers, Record

LETTER: Headers = (
    ("__dlq.errors.topic", b"orders"),
    ("__dlq.errors.partition", b"1"),
    ("__dlq.errors.offset", b"42"),
    ("__dlq.errors.group", b"packers"),
)
SPEC = RedriveSpec("monday", "dlq.orders", Target.TOPIC, 1, Owner("User:ANONYMOUS", "/127.0.0.1"))
FROM: Headers = (
    ("__redrive.queue.topic", b"dlq.orders"),
    ("__redrive.queue.partition", b"0"),
    ("__redrive.queue.offset", b"5"),
)


def test_headers_of_a_redrive_of_ours_are_understood() -> None:
    said = sent_back(_redriven(LETTER))
    assert said == SentBack("dlq.orders", 2, 7, 1, "monday", "packers")
    again = sent_back(_redriven((*LETTER, *_redriven(LETTER))))
    assert again is not None
    assert str(again) == "sent back from dlq.orders-2:7, 2nd time"


def _redriven(headers: Headers) -> Headers:
    letter = letter_of(Record(7, 0, None, b"value", headers))
    assert letter is not None
    return redriven(SPEC, 2, letter, None, 0).headers


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_how_often_in_words(times: int, words: str) -> None:
    assert str(SentBack("q", 0, 1, times, None, None)) == f"sent back from q-0:1, {words} time"


def test_what_is_not_said_is_left_out() -> None:
    said = sent_back(FROM)
    assert said == SentBack("dlq.orders", 0, 5, None, None, None)
    assert str(said) == "sent back from dlq.orders-0:5"


@pytest.mark.parametrize("number", [b"", b"-1", b"x", b"9" * 20, "١".encode(), b"\xff", None])
def test_a_record_whose_headers_name_no_letter_was_not_sent_back(number: bytes | None) -> None:
    assert sent_back((*FROM[:2], ("__redrive.queue.offset", number))) is None
    assert sent_back(LETTER) is None
    assert sent_back(()) is None
