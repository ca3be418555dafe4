"""docs/compatibility.md is kept: no promised name was removed, and every new one is recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.compatibility.surface import recorded, surface

ROOT = Path(__file__).parents[3]
PROMISED = recorded()
TODAY = surface()


def broken(of: str, promised: Mapping[str, Any], today: Mapping[str, Any]) -> Iterator[str]:
    """Yield what would break for a user who relies on the promises."""
    for name, wanted in promised.items():
        if name not in today:
            yield f"{name} is gone"
        elif not _kept(of, wanted, today[name]):
            yield f"{name}: {wanted} was promised, it is {today[name]}"


def _kept(of: str, wanted: Any, now: Any) -> bool:
    if of == "python" and wanted is not None:
        return now is not None and _calls_work(wanted, now)
    if of == "requests":
        return bool(now[0] <= wanted[0] and now[1] >= wanted[1])
    if of == "options":
        return {*wanted} <= {*now}
    return bool(wanted == now)


def _calls_work(wanted: Sequence[str], now: Sequence[str]) -> bool:
    """Return True if every call that the promised parameters allow still works."""
    places = [_bare(each) for each in wanted if each[0] not in "*."]
    needed = {_bare(each) for each in now if not each.endswith("=") and not each.startswith(("...", "**"))}
    was_needed = {_bare(each) for each in wanted if not each.endswith("=")}
    return (
        [_bare(each) for each in now if each[0] not in "*."][: len(places)] == places
        and {_bare(each) for each in wanted} <= {_bare(each) for each in now}
        and needed <= was_needed
    )


def _bare(parameter: str) -> str:
    return parameter.strip("*.=")


@pytest.mark.parametrize("of", PROMISED)
def test_nothing_that_was_promised_is_gone(of: str) -> None:
    assert list(broken(of, PROMISED[of], TODAY[of])) == []


@pytest.mark.parametrize("of", TODAY)
def test_all_that_there_is_today_is_on_record(of: str) -> None:
    new = {name for name in TODAY[of] if PROMISED[of].get(name, ...) != TODAY[of][name]}
    assert new == set(), "python -m tests.unit.compatibility.surface"


@pytest.mark.parametrize(
    ("of", "wanted", "now"),
    [
        ("json", ["string"], ["null", "string"]),
        ("metrics", ["gauge", "group"], ["gauge", "group", "topic"]),
        ("metrics", ["gauge"], ["counter"]),
        ("requests", [0, 5], [1, 5]),
        ("requests", [0, 5], [0, 4]),
        ("options", ["--json"], []),
        ("exit codes", 4, 5),
        ("python", ["a", "b="], ["b=", "a"]),
        ("python", ["a", "b="], ["a", "b"]),
        ("python", ["a"], ["a", "c"]),
        ("python", ["a"], ["a", "*c"]),
        ("python", ["a", "*c="], ["a"]),
        ("python", ["a"], None),
    ],
)
def test_a_broken_promise_is_noticed(of: str, wanted: Any, now: Any) -> None:
    assert list(broken(of, {"name": wanted}, {"name": now})) == [f"name: {wanted} was promised, it is {now}"]
    assert list(broken(of, {"name": wanted}, {})) == ["name is gone"]


@pytest.mark.parametrize(
    ("of", "wanted", "now"),
    [
        ("requests", [1, 5], [0, 6]),
        ("options", ["--json"], ["--json", "-j"]),
        ("python", ["a", "b="], ["a", "b=", "c=", "*d=", "**more"]),
        ("python", ["a", "*c="], ["a", "c="]),
        ("python", ["a"], ["a="]),
    ],
)
def test_what_is_added_breaks_nothing(of: str, wanted: Any, now: Any) -> None:
    assert list(broken(of, {"name": wanted}, {"name": now})) == []


def test_the_tests_that_the_page_names_exist() -> None:
    text = (ROOT / "docs" / "compatibility.md").read_text()
    named = re.findall(r"`(tests/[\w/.-]+)`", text)
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []
