from __future__ import annotations

from tests.campaign.order_kills.judge import ACCEPT, Judge


def judge() -> Judge:
    return Judge({0: [1, 1, 2, None, 1]}, limit=3)


def test_records_of_a_key_one_after_the_other_are_in_order() -> None:
    one = judge()
    for offset in (0, 1, 2, 3, 4):
        one.delivered("m", (0, offset), 1, 0.0, 9.0)
        one.sends((0, offset), ACCEPT)
        one.answered((0, offset), ACCEPT, accepted=True)
    assert (one.broken, one.left(), one.over) == ([], [], 5)


def test_a_record_beside_an_earlier_one_of_its_key_is_noticed() -> None:
    one = judge()
    one.delivered("m1", (0, 0), 1, 0.0, 9.0)
    one.delivered("m2", (0, 2), 1, 1.0, 9.0)
    assert one.broken == []
    one.delivered("m2", (0, 1), 1, 1.0, 9.0)
    assert one.broken == ["(0, 1) came to m2 while m1 had 0 of its key"]


def test_more_records_of_a_key_than_may_be_in_hand_are_noticed() -> None:
    one = Judge({0: [1, 1, 2, None, 1]}, limit=3, per_key=2)
    one.delivered("m1", (0, 1), 1, 0.0, 9.0)
    one.delivered("m2", (0, 0), 1, 1.0, 9.0)
    assert (one.broken, one.most_in_hand) == ([], 2)
    one.delivered("m2", (0, 4), 1, 1.0, 9.0)
    assert one.broken == ["(0, 4) came to m2 while m1 had 1 and m2 had 0 of its key"]
    assert one.ends_out_of_order() == []


def test_a_lock_that_ran_out_and_a_lost_member_hold_nothing() -> None:
    one = judge()
    one.delivered("m1", (0, 0), 1, 0.0, 9.0)
    one.delivered("m2", (0, 1), 1, 9.0, 18.0)
    one.lost("m2")
    one.delivered("m1", (0, 4), 1, 10.0, 19.0)
    assert one.broken == []


def test_a_record_after_a_later_one_of_its_key_is_noticed() -> None:
    one = judge()
    one.delivered("m1", (0, 1), 1, 0.0, 9.0)
    one.lost()
    one.delivered("m1", (0, 0), 1, 1.0, 9.0)
    assert one.broken == ["(0, 0) came to m1 after 1 of its key"]


def test_an_end_that_was_sent_after_that_of_a_later_record_is_noticed() -> None:
    one = judge()
    for offset in (1, 0, 4):
        one.sends((0, offset), ACCEPT)
    for offset in (4, 0, 1):
        one.answered((0, offset), ACCEPT, accepted=True)
    assert one.ends_out_of_order() == ["(0, 0) ended after 1 of its key"]


def test_a_delivery_after_the_end_and_a_record_that_never_ends_are_noticed() -> None:
    one = judge()
    one.delivered("m1", (0, 3), 1, 0.0, 9.0)
    one.sends((0, 3), ACCEPT)
    one.answered((0, 3), ACCEPT, accepted=True)
    one.delivered("m1", (0, 3), 2, 1.0, 9.0)
    assert one.broken == ["(0, 3) came to m1 after its end was answered"]
    assert one.left() == [(0, 0), (0, 1), (0, 2), (0, 4)]
