"""Runs in which single offsets change their status, in both forms, offset by offset."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import ModuleType

import pytest

from tests.support.each import for_each
from tests.support.pass_forms import RUN_FORMS

pytestmark = pytest.mark.parametrize("form", RUN_FORMS)


OLD, NEW, OTHER = object(), object(), object()


def runs_of(plain: Sequence[object], first: int) -> tuple[list[int], list[object]]:
    starts = [at for at, status in enumerate(plain) if at == 0 or plain[at - 1] is not status]
    return [first + at for at in starts], [plain[at] for at in starts]


@for_each("seed", range(200))
def test_the_offsets_that_have_the_one_status_get_the_other(form: ModuleType, seed: int) -> None:
    rng = Random(seed)
    size, first = rng.randint(1, 30), rng.choice((0, 7, 2**40))
    plain = [rng.choice((OLD, NEW, OTHER)) for _ in range(size)]
    offsets = sorted(rng.sample(range(first, first + size), rng.randint(0, size)))
    after = [NEW if status is OLD and first + at in offsets else status for at, status in enumerate(plain)]
    others = [offset for offset in offsets if plain[offset - first] is not OLD]
    starts, statuses = runs_of(plain, first)
    assert form.replaced(starts, statuses, first + size, offsets, OLD, NEW) == (*runs_of(after, first), others)
    assert (starts, statuses) == runs_of(plain, first)
