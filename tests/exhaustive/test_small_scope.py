"""Every history of a few steps in each scope; `make exhaustive DEPTH=n` searches deeper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.exhaustive.__main__ import SCOPES, enough_time
from tests.exhaustive.form import digest
from tests.exhaustive.planted import FAULTS, Planted
from tests.exhaustive.scope import Scope
from tests.exhaustive.search import Searched, lived, search
from tests.exhaustive.steps import alphabet, is_possible
from tests.exhaustive.world import World
from tests.support.statuses import new_statuses

DEPTH = 4
LESS_DEEP = dict.fromkeys(
    (
        "two batches of two",
        "four records",
        "dead letters",
        "order",
        "order, three keys",
        "order, three keys, delays",
        "two of a key",
        "two of a key, delays",
        "order, looking ahead",
    ),
    3,
)
"""The scopes with the most states, which are searched less deep."""


@pytest.fixture(autouse=True)
def statuses_of_its_own() -> Iterator[None]:
    """Keep a planted fault out of the statuses that are cached for later tests."""
    with new_statuses():
        yield


@pytest.mark.parametrize("name", SCOPES)
def test_no_life_breaks_a_promise(name: str) -> None:
    scope, depth = SCOPES[name], LESS_DEEP.get(name, DEPTH)
    searched = search(scope, depth)
    assert searched.found is None, searched.found.listed(scope)
    assert searched.depth == depth
    assert all(states > 0 for states in searched.states)


def test_a_search_that_goes_no_deeper_has_worked_off_what_it_reached() -> None:
    scope = SCOPES["delays"]
    ended = search(scope, 5, deeper=lambda searched: searched.depth < 2)
    assert ended == search(scope, 2)
    assert ended.depth == 2


def test_one_step_more_is_taken_if_it_fits_with_what_comes_after_it() -> None:
    """The next step is expected to take ten times the last one's 3 s, and finishing the work of its worlds 60 s."""
    searched, ends = Searched(states=[1, 10, 100, 1_000]), [0.0, 0.1, 0.4, 3.4]
    assert not enough_time(searched, ends, limit_s=93.3)
    assert enough_time(searched, ends, limit_s=93.5)


@pytest.mark.parametrize("planted", FAULTS, ids=lambda planted: planted.fault.__name__)
def test_a_planted_fault_is_found(planted: Planted) -> None:
    with planted.fault():
        found = search(planted.scope, planted.depth).found
    assert found is not None
    assert found.listed(planted.scope).endswith(found.why)


@pytest.mark.parametrize("scope", {planted.scope for planted in FAULTS} - set(SCOPES.values()), ids=str)
def test_where_faults_are_planted_there_are_none_without(scope: Scope) -> None:
    assert search(scope, 3).found is None


def test_forms_keep_worlds_apart_that_have_another_future() -> None:
    """Worlds of one form allow the same steps, which lead to equal forms."""
    scope = SCOPES["all of it"]
    lives: dict[bytes, list[bytes]] = {}
    level = [b""]
    for _ in range(3):
        level = [life + bytes((at,)) for life in level for at in _possible(lived(scope, life))]
        for life in level:
            lives.setdefault(digest(lived(scope, life)), []).append(life)
    twins = [same[:2] for same in lives.values() if len(same) > 1]
    assert twins
    for one, other in twins:
        here, there = lived(scope, one), lived(scope, other)
        assert len(_possible(here)) == len(_possible(there))
        assert _futures(one) == _futures(other)


def _possible(world: World) -> list[int]:
    return [at for at, step in enumerate(alphabet(world.scope)) if is_possible(step, world)]


def _futures(life: bytes) -> list[bytes]:
    """Return the forms after one further step, for each member taken as the first."""
    scope = SCOPES["all of it"]
    return sorted(digest(lived(scope, life + bytes((at,)))) for at in _possible(lived(scope, life)))
