"""A test of many values tries all of them, and names a failing one."""

from __future__ import annotations

import inspect

import pytest

from tests.support.each import for_each


def test_every_value_is_tried() -> None:
    seen: list[tuple[str, int]] = []

    @for_each("seed", range(3))
    def test(form: str, seed: int) -> None:
        seen.append((form, seed))

    assert list(inspect.signature(test).parameters) == ["form"]
    test(form="x")
    assert seen == [("x", 0), ("x", 1), ("x", 2)]


def test_the_value_that_fails_is_named() -> None:
    @for_each("seed", range(9))
    def test(seed: int) -> None:
        assert seed < 4

    with pytest.raises(AssertionError) as caught:
        test()
    assert caught.value.__notes__ == ["seed = 4"]


def test_also_one_that_pytest_ends() -> None:
    @for_each("name", ["a", "b"])
    def test(name: str) -> None:
        if name == "b":
            pytest.fail("no")

    with pytest.raises(pytest.fail.Exception) as caught:
        test()
    assert caught.value.__notes__ == ["name = 'b'"]


@pytest.mark.parametrize(("values", "error"), [([], ValueError), ([1], TypeError)])
def test_nothing_is_left_untried(values: list[int], error: type[Exception]) -> None:
    def test(other: int) -> None: ...

    with pytest.raises(error):
        for_each("seed", values)(test)
