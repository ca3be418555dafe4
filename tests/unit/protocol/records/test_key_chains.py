"""Chains of offsets with one key, in both forms, beside a model that looks at every offset."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.kafka.walk_forms import FORMS, RecordWalk

pytestmark = pytest.mark.parametrize("form", FORMS)


class Model:
    """Unfinished offsets with their keys."""

    def __init__(self) -> None:
        self.unfinished: dict[int, int] = {}

    def heads(self) -> set[int]:
        first: dict[int, int] = {}
        for offset, key in sorted(self.unfinished.items()):
            first.setdefault(key, offset)
        return set(first.values())


@pytest.mark.parametrize("seed", range(40))
def test_the_head_of_a_key_is_its_lowest_unfinished_offset(form: RecordWalk, seed: int) -> None:
    rng = Random(seed)
    chains, model, upto = form.KeyChains(), Model(), 0
    for _ in range(60):
        if rng.random() < 0.4:
            keys = {
                upto + at: rng.choice((0, 1, 2, -(2**63), 2**63 - 1)) for at in range(rng.randint(0, 9)) if at % 4 != 3
            }
            upto += 10
            before = model.heads()
            model.unfinished |= keys
            assert chains.link(keys) == sorted(model.heads() - before)
        else:
            everything = list(range(max(0, upto - 40), upto + 2))
            some = rng.sample(everything, rng.randint(0, len(everything) // 4))
            if rng.random() < 0.7:
                some.sort()
            before = model.heads()
            for offset in some:
                model.unfinished.pop(offset, None)
            assert sorted(chains.finish(some)) == sorted(model.heads() - before)
        assert len(chains) == len(model.unfinished)
        heads = model.heads()
        head_of = {model.unfinished[head]: head for head in heads}
        assert chains.heads() == {offset: head_of[key] for offset, key in model.unfinished.items()}
        for offset in range(max(0, upto - 60), upto + 2):
            assert chains.waits(offset) is (offset in model.unfinished and offset not in heads)
        low, high = sorted((rng.randrange(upto + 1), rng.randrange(upto + 1)))
        between = chains.between(low, high)
        assert between == sorted(between)
        assert set(between) >= {offset for offset in model.unfinished if low <= offset <= high}
        assert all(low <= offset <= high for offset in between)
    chains.finish(list(range(upto)))
    assert len(chains) == 0
    assert chains.between(0, upto) == [], "nothing stays of what is finished"


def test_offsets_that_become_heads_and_are_finished_at_once(form: RecordWalk) -> None:
    chains = form.KeyChains()
    assert chains.link({1: 7, 2: 7, 3: 8, 5: 7}) == [1, 3]
    assert chains.finish([1, 2]) == [5]
    assert chains.finish([3, 3, 4]) == []
    assert chains.link({6: 7, 7: 8}) == [7]
    assert chains.finish([6]) == []
    assert not chains.waits(6)
    assert chains.finish([5]) == []
    assert chains.link({8: 7}) == [8]


def record(delta: int) -> bytes:
    return bytes([12, 0, 0, 2 * delta, 1, 1, 0])


def test_what_comes_before_the_first_wanted_record_is_passed_over_or_walked(form: RecordWalk) -> None:
    """With the same result, whether offsets are missing before it or not."""
    for deltas in ([0, 1, 2, 3, 4], [0, 2, 3, 4], [1, 2, 4], [4], [0, 1, 2, 3]):
        data = b"".join(map(record, deltas))
        for first in range(6):
            for last in range(first, 6):
                wanted = [delta for delta in deltas if first <= delta <= last]
                count, parts = form.pick(b"@@" + data, 2, 2 + len(data), len(deltas), [first, last]) or (0, [])
                assert (count, b"".join(parts)) == (len(wanted), b"".join(map(record, wanted)))
    sound = b"".join(map(record, range(4)))
    assert form.pick(sound, 0, len(sound) - 1, 4, [3, 3]) is None, "the record does not end where it should"
    assert form.pick(sound[:-1], 0, len(sound) - 1, 4, [3, 3]) is None
    assert form.pick(record(1) + sound, 0, len(sound) + 7, 5, [2, 3]) is None, "0 comes behind 1"
