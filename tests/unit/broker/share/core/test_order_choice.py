"""Order by key: how much one fetch delivers when waiting records split the available ones into ranges."""

from __future__ import annotations

import random

import pytest

from shareq.broker.share.core.acquire import FETCH_IN_RANGES
from shareq.broker.share.core.partition import SharePartition
from tests.support.models.key_hashes import key_hashes
from tests.support.models.share_partition import ACCEPT, BATCHES, KEY, RECORDS, batches, settings, settle


class Log:
    """A share partition over record batches of `size` with the given keys."""

    def __init__(self, keys: list[int], size: int) -> None:
        self.keys, self.size = keys, size
        self.core = SharePartition(KEY, 1, settings(limit=20_000)._replace(order_by_key=True))
        self.core.load(1, 0, (), log_start_offset=0, log_end_offset=len(keys))

    def fetch(self, *, mode: int = BATCHES, most: int = 500) -> list[tuple[int, int]]:
        core, offset = self.core, self.core.next_fetch_offset()
        read = [span for span in batches(0, len(self.keys) - 1, self.size) if span.last_offset >= offset]
        if not read:
            return []
        first, last = core.keys_wanted(read) or (1, 0)
        keys = {each: self.keys[each] for each in range(first, last + 1)}
        modes = {int(each): each for each in (BATCHES, RECORDS)}
        acquired = core.acquire("m1", modes[mode], self.size, most, offset, read, 0, keys=key_hashes(keys))
        return [(first, last) for first, last, _ in acquired]


def test_ends_of_parts_that_make_no_record_cheaper_are_left() -> None:
    """A run of a hundred is delivered, but not the single records behind it.

    Each of those makes two ranges, its own and a waiting one.
    """
    log = Log([*range(1, 101), *(key for each in range(200, 260) for key in (1, each))], 500)
    assert log.fetch() == [(0, 99)]
    assert log.fetch()[:2] == [(101, 101), (103, 103)]


def test_single_records_are_handed_out_together_while_the_fetch_costs_more() -> None:
    log = Log([each % 20 for each in range(40)], 40)
    assert log.fetch() == [(0, 19)]
    few = [key for each in range(FETCH_IN_RANGES) for key in (each, 0)]
    assert len(Log(few, len(few)).fetch()) == FETCH_IN_RANGES


def test_it_goes_on_over_batches_that_are_in_flight_together() -> None:
    """Batches in flight together count as one; the first part that is left out ends the fetch."""
    log = Log([*range(1, 101), *(key for each in range(200, 260) for key in (1, each))], 50)
    assert log.fetch() == [(0, 49), (50, 99)]


@pytest.mark.parametrize(("front", "goes_on"), [(FETCH_IN_RANGES, True), (FETCH_IN_RANGES + 1, False)])
@pytest.mark.parametrize("waits", [False, True])
def test_what_waits_in_front_of_all_costs_nothing(front: int, *, goes_on: bool, waits: bool) -> None:
    """The first run costs nothing, even if a record that another fetch acquired lies before it."""
    parted = [key for each in range(200, 260) for key in (10, each)]
    keys = [*([5, 5] if waits else []), *range(10, 10 + front), *parted]
    log = Log(keys, 500)
    if waits:
        assert log.fetch(mode=RECORDS, most=1) == [(0, 0)]
    first = 2 if waits else 0
    assert log.fetch()[0] == (first, first + front - 1)
    assert log.core.in_flight_records == len(keys)
    taken = [view for view in log.core.snapshot(first + front) if view.owner]
    assert bool(taken) is goes_on


def test_what_is_left_of_a_batch_ends_the_fetch_whatever_comes_behind_it() -> None:
    log = Log([*range(1, 101), *(key for each in range(200, 250) for key in (1, each)), *range(300, 500)], 200)
    assert log.fetch() == [(0, 99)]


def test_exactly_so_many_are_handed_out_where_records_are_counted() -> None:
    keys = [*range(1, 101), *(key for each in range(200, 260) for key in (1, each))]
    acquired = Log(keys, 500).fetch(mode=RECORDS, most=130)
    assert acquired[:2] == [(0, 99), (101, 101)]
    assert len(acquired) == 31


def test_a_thousand_keys_at_random_come_in_ranges_of_several_and_all_of_them() -> None:
    chance = random.Random(5)
    log = Log([chance.randrange(1_000) for _ in range(10_000)], 10_000)
    fetches, ranges, seen = 0, 0, 0
    while acquired := log.fetch():
        fetches, ranges = fetches + 1, ranges + len(acquired)
        seen += sum(last - first + 1 for first, last in acquired)
        for first, last in acquired:
            settle(log.core, first, last, ACCEPT)
    assert seen == 10_000
    assert seen / ranges > 3
    assert 100 < seen / fetches < 300
