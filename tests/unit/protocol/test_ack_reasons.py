"""Reasons for releasing records, encoded beside acknowledgements."""

from __future__ import annotations

from random import Random

from shareq.protocol.ack_reasons import MOST, MOST_BYTES, TAG, cut, reasons_in, tags_of


def test_reasons_come_back_as_they_were() -> None:
    reasons = {7: "ValueError: no glue", 2**62: "", 0: "ä€"}
    assert dict(reasons_in(tags_of(reasons))) == {at: text.encode() for at, text in reasons.items()}
    assert tags_of({}) == ()
    assert tags_of({1: "a"}) == ((TAG, bytes(7) + b"\x01\x00\x01a"),)


def test_a_long_reason_is_cut_between_characters_and_no_more_are_sent_than_may() -> None:
    assert cut("€" * 1_000) == "€".encode() * (MOST_BYTES // 3)
    assert cut("\udcff") == b"?"
    ((tag, _),) = tags_of(dict.fromkeys(range(MOST + 5), "x"))
    assert tag == TAG
    assert len(list(reasons_in(tags_of(dict.fromkeys(range(MOST + 5), "x"))))) == MOST


def test_what_cannot_be_read_is_left_out() -> None:
    ((_, value),) = tags_of({1: "one", 2: "two"})
    assert list(reasons_in(((5, value),))) == []
    assert list(reasons_in(((TAG, value[:-1]),))) == [(1, b"one")]
    assert list(reasons_in(((TAG, bytes(8) + b"\xff\xff" + bytes(70_000)),))) == []
    random = Random(1)
    for _ in range(200):
        found = list(reasons_in(((TAG, random.randbytes(random.randint(0, 300))),)))
        assert all(len(reason) <= MOST_BYTES for _, reason in found)
