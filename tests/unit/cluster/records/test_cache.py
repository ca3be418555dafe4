"""The cache, compared with a model that keeps every chunk in a list."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.log.segments.reader import BatchSpan
from shareq.cluster.records.cache import Chunk, ChunkCache, Place

PLACES = (Place(b"a" * 16, 0), Place(b"a" * 16, 1), Place(b"b" * 16, 0))
BUDGET = 20_000


class Put(NamedTuple):
    place: Place
    first: int
    records: int
    decided: bool


class Find(NamedTuple):
    place: Place
    offset: int
    decided: bool


class Forget(NamedTuple):
    place: Place
    below: int | None


class Reserve(NamedTuple):
    most: int


class Release(NamedTuple):
    pass


Step = Put | Find | Forget | Reserve | Release

_places = st.sampled_from(PLACES)
_offsets = st.integers(0, 60)
_puts = st.builds(Put, _places, _offsets, st.integers(1, 12), st.booleans())
_finds = st.builds(Find, _places, _offsets, st.booleans())
_forgets = st.builds(Forget, _places, st.none() | _offsets)
_reserves = st.builds(Reserve, st.integers(1, 9_000))
_steps = st.lists(st.one_of(_puts, _puts, _finds, _forgets, _reserves, st.builds(Release)), max_size=60)


def chunk(first: int, count: int, *, decided: bool = True, size: int = 100) -> Chunk:
    batches = [BatchSpan(first + each, first + each, each * size, size, 0, -1) for each in range(count)]
    return Chunk(first, b"x" * (count * size), batches, () if decided else None)


@given(_steps)
def test_what_is_found_was_put_and_the_budget_holds(steps: list[Step]) -> None:
    cache, kept, granted = ChunkCache(BUDGET), dict[Place, list[Chunk]](), list[int]()
    for step in steps:
        match step:
            case Put(place, first, count, decided):
                new = chunk(first, count, decided=decided)
                cache.put(place, new)
                kept.setdefault(place, []).append(new)
                for offset in (first, new.next_offset - 1):
                    assert cache.find(place, offset, decided=False), "what was just put can be read"
            case Find(place, offset, decided):
                found = cache.find(place, offset, decided=decided)
                assert (found is not None) == cache.has(place, offset, decided=decided)
                if found is not None:
                    assert found in kept[place]
                    assert found.first_offset <= offset < found.next_offset
                    assert found.aborted is not None or not decided
            case Forget(place, below):
                cache.forget(place, below)
                kept[place] = [each for each in kept.get(place, ()) if below is not None and each.next_offset > below]
                gone = range(61 + 12 if below is None else below)
                assert below is not None or not any(cache.has(place, offset, decided=False) for offset in gone)
            case Reserve(most):
                before = cache.reserved_bytes
                granted.append(cache.reserve(most, most))
                assert granted[-1] in (0, most)
                assert granted[-1] or before + most > BUDGET
            case Release():
                if granted:
                    cache.release(granted.pop())
        assert cache.reserved_bytes == sum(granted)
        alive = [each for place in kept for each in kept[place] if _is_in(cache, place, each)]
        assert cache.held_bytes == sum(each.cost for each in alive)
        assert cache.held_bytes + cache.reserved_bytes <= BUDGET or len(alive) == 1


def _is_in(cache: ChunkCache, place: Place, one: Chunk) -> bool:
    return any(one is each for kind in cache._chunks.get(place, ()) for each in kind)


@given(st.lists(st.tuples(_offsets, st.integers(1, 12), st.booleans()), max_size=40), _offsets)
def test_without_a_limit_everything_put_is_found(puts: list[tuple[int, int, bool]], offset: int) -> None:
    cache = ChunkCache(1 << 30)
    for first, count, decided in puts:
        cache.put(PLACES[0], chunk(first, count, decided=decided))
    for wants_decided in (False, True):
        there = any(
            first <= offset < first + count and (decided or not wants_decided) for first, count, decided in puts
        )
        assert cache.has(PLACES[0], offset, decided=wants_decided) == there
        found = cache.find(PLACES[0], offset, decided=wants_decided)
        assert (found is not None) == there


def test_a_chunk_covered_by_another_than_the_first_with_its_offset_is_not_kept() -> None:
    cache = ChunkCache(1 << 30)
    assert cache.put(PLACES[0], chunk(0, 5))
    assert cache.put(PLACES[0], chunk(1, 6))
    assert not cache.put(PLACES[0], chunk(4, 2))
    assert cache.has(PLACES[0], 6, decided=True)


def test_the_chunk_that_was_not_read_for_longest_gives_way() -> None:
    cost = chunk(0, 10).cost
    cache = ChunkCache(3 * cost)
    for first in (0, 10, 20):
        cache.put(PLACES[0], chunk(first, 10))
    assert cache.find(PLACES[0], 5, decided=True) is not None
    cache.put(PLACES[1], chunk(0, 10))
    assert [cache.has(PLACES[0], offset, decided=True) for offset in (0, 10, 20)] == [True, False, True]
    assert cache.evicted == 1


def test_room_for_an_answer_under_way_is_taken_from_what_is_held() -> None:
    cost = chunk(0, 10).cost
    cache = ChunkCache(2 * cost)
    cache.put(PLACES[0], chunk(0, 10))
    cache.put(PLACES[0], chunk(10, 10))
    assert cache.reserve(cost, cost) == cost
    assert cache.held_bytes == cost
    assert cache.reserve(2 * cost, cost) == cost
    assert cache.held_bytes == 0
    assert cache.reserve(1, 1) == 0


def test_a_chunk_larger_than_the_budget_stays_until_the_next_one() -> None:
    cache = ChunkCache(100)
    cache.put(PLACES[0], chunk(0, 10))
    assert cache.has(PLACES[0], 0, decided=True)
    cache.put(PLACES[0], chunk(10, 10))
    assert not cache.has(PLACES[0], 0, decided=True)
    assert cache.has(PLACES[0], 10, decided=True)


def test_a_decided_chunk_takes_the_place_of_an_undecided_one_and_not_the_other_way_round() -> None:
    cache = ChunkCache(1 << 20)
    cache.put(PLACES[0], chunk(0, 10, decided=False))
    assert not cache.has(PLACES[0], 3, decided=True)
    cache.put(PLACES[0], chunk(0, 10))
    held = cache.held_bytes
    cache.put(PLACES[0], chunk(2, 5, decided=False))
    assert cache.held_bytes == held == chunk(0, 10).cost


def test_decided_chunks_that_overlap_a_range() -> None:
    cache = ChunkCache(1 << 20)
    for first, decided in ((0, True), (10, False), (20, True), (30, True)):
        cache.put(PLACES[0], chunk(first, 10, decided=decided))
    assert [each.first_offset for each in cache.overlapping(PLACES[0], 9, 30)] == [0, 20]
    assert [each.first_offset for each in cache.overlapping(PLACES[0], 10, 31)] == [20, 30]
    assert list(cache.overlapping(PLACES[1], 0, 9)) == []
