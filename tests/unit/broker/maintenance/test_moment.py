"""Finding, from outside, a moment at which no log was being written."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given, settings
from hypothesis import strategies as st

from shareq.broker.maintenance.backup.moment import Sight, find_moment


class World:
    """Logs that grow during the search: before each single check, the next of `writes` happens.

    A write names logs in order, all in one transaction, so an instant that shows the n-th log's part shows all parts
    before it. `plain` logs are written without any order.
    """

    def __init__(self, logs: int, plain: int, writes: list[list[int]]) -> None:
        self.sizes = {f"t-{n}": 0 for n in range(logs)} | {f"p-{n}": 0 for n in range(plain)}
        self._writes = iter([write for group in writes for write in [*group, None]])
        self._order: list[dict[str, int]] = [dict(self.sizes)]
        self.looks = 0

    def _happen(self) -> None:
        for write in self._writes:
            if write is None:
                return
            names = list(self.sizes)
            self.sizes[names[write % len(names)]] += 1
            self._order.append(dict(self.sizes))

    def look_at_all(self) -> dict[str, Sight]:
        return self.look_at(list(self.sizes))

    def look_at(self, names: Collection[str]) -> dict[str, Sight]:
        seen = {}
        for name in names:
            self.looks += 1
            self._happen()
            seen[name] = Sight(0, 0, (0, 0), self.sizes[name])
        return seen

    def is_plain(self, name: str, before: Sight | None, after: Sight | None) -> bool:
        return name.startswith("p-")

    def was(self, found: dict[str, Sight]) -> bool:
        """Return True if the logs with transactions had these ends at one instant, and the others at least these."""
        return any(
            all(
                found[name].size == size if name.startswith("t-") else found[name].size >= size
                for name, size in instant.items()
            )
            for instant in self._order
        )


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 5), st.integers(0, 3), st.lists(st.lists(st.integers(0, 7), max_size=4), max_size=60))
def test_what_is_found_was_there_at_one_instant(logs: int, plain: int, writes: list[list[int]]) -> None:
    world = World(logs, plain, writes)
    found = find_moment(world, lambda: 0.0, lambda: None, 1.0)
    assert found is not None
    assert world.was(found)


def test_plain_logs_that_never_rest_are_not_waited_for() -> None:
    world = World(1, 2, [[1], [2]] * 500)
    found = find_moment(world, lambda: 0.0, lambda: None, 1.0)
    assert found is not None
    assert world.looks < 20
    assert world.was(found)


def test_there_may_be_no_such_moment() -> None:
    """Transactions follow each other without a pause, so the search ends at the timeout."""
    world = World(1, 0, [[0]] * 100_000)
    clock = iter(range(100_000))
    pauses: list[int] = []
    assert find_moment(world, lambda: next(clock) / 1000, lambda: pauses.append(1), 2.0) is None
    assert pauses
