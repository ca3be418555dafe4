from __future__ import annotations

from tests.campaign.airflow_kills.judge import Stored, judge

ASSETS = ("pack", "bill")


def test_each_record_once_for_each_asset_is_right() -> None:
    assert judge(["1"], ASSETS, [Stored("pack", "1", 1), Stored("bill", "1", 1)]) == ([], 0)


def test_a_record_that_one_asset_lacks_is_lost() -> None:
    assert judge(["1"], ASSETS, [Stored("pack", "1", 1)]).broken == ["1 is not stored for bill"]


def test_a_second_event_of_a_later_delivery_is_counted_and_one_of_the_same_is_not_excused() -> None:
    first = [Stored("pack", "1", 1), Stored("bill", "1", 1)]
    assert judge(["1"], ASSETS, [*first, Stored("pack", "1", 2)]) == ([], 1)
    assert judge(["1"], ASSETS, [*first, Stored("pack", "1", 1)]).broken == [
        "1 is stored twice for pack from delivery 1"
    ]
