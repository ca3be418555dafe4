"""Chains of offsets with one key, in both forms, compared with a model that checks every offset."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import pytest

from tests.support.each import for_each
from tests.support.models.key_hashes import key_hashes
from tests.support.pass_forms import CHAIN_FORMS

pytestmark = pytest.mark.parametrize("form", CHAIN_FORMS)

KEYS = (0, 1, 2, -(2**63), 2**63 - 1)


class Status:
    def __init__(self, name: str, *, finished: bool = False, available: bool = False) -> None:
        self.name, self.finished, self.available = name, finished, available


DONE, ARCHIVED, FREE, HELD = (
    Status("done", finished=True),
    Status("archived", finished=True),
    Status("free", available=True),
    Status("held"),
)
WAITS = Status("waits")


class Model:
    """Unfinished offsets with their keys; the heads of a key are the `most` lowest."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.unfinished: dict[int, int] = {}

    def heads(self) -> set[int]:
        return {offset for each in self._chains().values() for offset in each[: self.most]}

    def lowest(self) -> dict[int, int]:
        return {key: each[0] for key, each in self._chains().items()}

    def _chains(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for offset, key in sorted(self.unfinished.items()):
            found.setdefault(key, []).append(offset)
        return found


def finish(chains: Any, *runs: tuple[int, int]) -> list[int]:
    found, available = chains.finish([(first, last, DONE) for first, last in runs], lambda status: status.finished)
    assert available == []
    return list(found)


def link(chains: Any, keys: dict[int, int]) -> list[int]:
    """Link the offsets, check the statuses of waiting ones, and return the new heads."""
    first, last = (min(keys), max(keys)) if keys else (0, -1)
    statuses = [FREE] * min(last - first + 1, 10_000)
    if len(statuses) < last - first + 1:
        return list(chains.link(*key_hashes(keys), [], 0, WAITS)[0])
    fresh = list(chains.link(*key_hashes(keys), statuses, first, WAITS)[0])
    waiting = {first + at for at, status in enumerate(statuses) if status is WAITS}
    assert waiting == keys.keys() - set(fresh)
    return fresh


def chance_runs(rng: Random, everything: list[int]) -> list[tuple[int, int, Status]]:
    """Return some of the offsets as disjoint runs, mostly ascending, some of them over holes."""
    cuts = sorted(rng.sample(everything, min(len(everything), 2 * rng.randint(0, 6))))
    runs = [
        (low, rng.choice((low, high - 1)) if high > low + 1 else low, rng.choice((DONE, DONE, ARCHIVED, FREE, HELD)))
        for low, high in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    if rng.random() < 0.3:
        rng.shuffle(runs)
    return runs


@pytest.mark.parametrize("holes", [(10,), (10, 10, 10, 1_020, 1_040, 2**40)], ids=["dense", "holes"])
@for_each("seed", range(60))
def test_the_heads_of_a_key_are_its_lowest_unfinished_offsets(
    form: ModuleType, seed: int, holes: tuple[int, ...]
) -> None:
    rng, most = Random(seed), 1 if seed < 30 else 2 + seed % 3
    chains, model, upto, everything = form.KeyChains(most), Model(most), 0, [0, 1]
    for _ in range(60):
        if rng.random() < 0.4:
            keys = {upto + at: rng.choice(KEYS) for at in range(rng.randint(0, 9)) if at % 4 != 3}
            upto += rng.choice(holes)
            everything = [*everything, *keys, upto - 1, upto][-40:]
            before = model.heads()
            model.unfinished |= keys
            assert link(chains, keys) == sorted(model.heads() - before)
        else:
            runs = chance_runs(rng, sorted(set(everything)))
            before = model.heads()
            for first, last, status in runs:
                if status.finished:
                    for offset in [each for each in model.unfinished if first <= each <= last]:
                        del model.unfinished[offset]
            found, available = chains.finish(runs, lambda status: status.finished)
            assert sorted(found) == sorted(model.heads() - before)
            assert available == [run for run in runs if run[2] is FREE]
        assert len(chains) == len(model.unfinished)
        heads, head_of = model.heads(), model.lowest()
        assert chains.waiting() == len(model.unfinished) - len(heads)
        assert chains.heads() == {offset: head_of[key] for offset, key in model.unfinished.items()}
        for offset in {each + step for each in everything for step in (-1, 0, 1)}:
            assert chains.waits(offset) is (offset in model.unfinished and offset not in heads)
        low, high = sorted(rng.choice(everything) + rng.randint(-1, 1) for _ in range(2))
        between = chains.between(low, high)
        assert between == sorted(between)
        assert set(between) >= {offset for offset in model.unfinished if low <= offset <= high}
        assert all(low <= offset <= high for offset in between)
    finish(chains, (0, upto))
    assert len(chains) == chains.waiting() == 0
    assert chains.between(0, upto) == [], "nothing stays of what is finished"


def test_offsets_that_become_heads_and_are_finished_at_once(form: ModuleType) -> None:
    chains = form.KeyChains()
    assert link(chains, {1: 7, 2: 7, 3: 8, 5: 7}) == [1, 3]
    assert finish(chains, (1, 1), (2, 2)) == [5]
    assert finish(chains, (3, 3), (3, 4)) == []
    assert link(chains, {6: 7, 7: 8}) == [7]
    assert finish(chains, (6, 6)) == []
    assert not chains.waits(6)
    assert finish(chains, (5, 5)) == []
    assert link(chains, {8: 7}) == [8]


def test_what_is_finished_out_of_turn_frees_no_more_than_the_one_that_comes_next(form: ModuleType) -> None:
    """Only the next offset is freed, even if offsets finish in another order than the log's."""
    chains = form.KeyChains()
    assert link(chains, {0: 7, 1: 8, 2: 7, 3: 7}) == [0, 1]
    assert finish(chains, (2, 2)) == []
    assert finish(chains, (1, 1), (0, 0)) == [3]
    assert finish(chains, (3, 3)) == []
    assert link(chains, {4: 7, 5: 7, 6: 7}) == [4]
    assert finish(chains, (4, 4), (5, 5)) == [6], "the one that became head was finished after that"


@pytest.mark.parametrize("hole", [2_000, 2**40])
def test_a_hole_of_the_log_takes_neither_memory_nor_time(form: ModuleType, hole: int) -> None:
    """Holes have any size, as a compacted log may have between two records."""
    chains = form.KeyChains()
    assert link(chains, {0: 7, 1: 8, hole: 7, hole + 1: 9, 2 * hole: 8, 2 * hole + 2: 7}) == [0, 1, hole + 1]
    assert chains.entries() <= 8
    assert [offset for offset in (0, 2, hole - 1, hole, hole + 1, 2 * hole - 1, 2 * hole) if chains.waits(offset)] == [
        hole,
        2 * hole,
    ]
    assert chains.between(1, 2 * hole) == [1, hole, hole + 1, 2 * hole]
    assert chains.heads() == {0: 0, 1: 1, hole: 0, hole + 1: hole + 1, 2 * hole: 1, 2 * hole + 2: 0}
    assert finish(chains, (0, hole - 1)) == [hole, 2 * hole]
    assert finish(chains, (2, hole)) == [2 * hole + 2]
    assert finish(chains, (hole + 1, 3 * hole)) == []
    assert len(chains) == 0


def test_holes_leave_with_what_is_finished(form: ModuleType) -> None:
    for slow in (False, True):
        chains, at = form.KeyChains(), 0
        if slow:
            assert link(chains, {0: 1}) == [0]
        for _ in range(4_000):
            at += 5_000
            assert link(chains, {at: 7, at + 1: 7}) == [at]
            assert finish(chains, (at, at + 1)) == []
        assert chains.entries() <= 2 + 2 * 4_000 * slow
        if slow:
            assert finish(chains, (0, 0)) == []
            assert link(chains, {at + 9_000: 3}) == [at + 9_000]
            assert chains.entries() == 1


def test_keys_of_unfinished_offsets_stay_known_when_those_that_ended_are_forgotten(form: ModuleType) -> None:
    chains, slow = form.KeyChains(), {0: 7, 500: 8, 1_000: 9}
    every = {offset: slow.get(offset, 10_000 + offset) for offset in range(3_000)}
    assert link(chains, every) == [*every]
    assert finish(chains, (1, 499), (501, 999), (1_001, 2_999)) == []
    assert link(chains, {3_000: 7, 3_001: 10_001, 3_002: 8, 3_003: 9}) == [3_001]
    assert finish(chains, (0, 0), (500, 500), (1_000, 1_000)) == [3_000, 3_002, 3_003]


def test_heads_stay_known_when_the_last_offset_of_their_key_is_forgotten(form: ModuleType) -> None:
    chains = form.KeyChains(2)
    assert link(chains, {0: 7, 1: 7} | {offset: offset for offset in range(10, 3_000)}) == [0, 1, *range(10, 3_000)]
    assert finish(chains, (1, 2_999)) == []
    assert link(chains, {3_000: 8, 3_001: 7, 3_002: 7}) == [3_000, 3_001]
    assert chains.heads() == {0: 0, 3_000: 3_000, 3_001: 0, 3_002: 0}
    assert finish(chains, (3_001, 3_001)) == [3_002]


def test_any_of_several_heads_makes_the_next_one_a_head(form: ModuleType) -> None:
    chains = form.KeyChains(2)
    assert link(chains, dict.fromkeys(range(6), 7)) == [0, 1]
    assert finish(chains, (1, 1), (3, 3)) == [2]
    assert finish(chains, (0, 0), (2, 2)) == [4, 5], "3 was finished while it waited"
    assert chains.waiting() == 0
    assert finish(chains, (4, 5)) == []
    assert link(chains, dict.fromkeys(range(6, 9), 7)) == [6, 7]


def test_of_what_is_finished_as_much_stays_as_of_the_rest(form: ModuleType) -> None:
    chains, most = form.KeyChains(), 0
    for at in range(0, 30_000, 100):
        assert len(link(chains, {at + each: at + each for each in range(100)})) == 100
        most = max(most, chains.entries())
        if at >= 2_000:
            assert finish(chains, (at - 2_000, at - 1_901)) == []
    assert 2 * 2_000 + 1_000 < most <= 2 * 2_000 + 1_024 + 2 * 100


def test_a_filled_list_begins_where_it_says(form: ModuleType) -> None:
    chains = form.KeyChains()
    statuses = [FREE] * 6
    assert chains.link([10, 12, 13, 15], [7, 7, 8, 7], statuses, 10, WAITS) == ([10, 13], 4)
    assert [status.name for status in statuses] == ["free", "free", "waits", "free", "free", "waits"]


@pytest.mark.parametrize(
    ("keys", "parts"),
    [([1, 2, 3], 1), ([1, 2, 3] * 4, 2), ([1, 2, 3, 3, 2, 1], 4), ([1, 1, 1], 2), ([1, 2, 1, 2, 3, 3], 4), ([], 0)],
)
def test_neighbours_that_come_after_neighbours_are_one_part(form: ModuleType, keys: list[int], parts: int) -> None:
    assert form.KeyChains().link(list(range(len(keys))), list(keys), [], 0, WAITS)[1] == parts
