from __future__ import annotations

import pytest

from shareq.protocol.generator.versions import HIGHEST, NONE, Versions, describe


@pytest.mark.parametrize(
    ("text", "lowest", "highest"),
    [("0", 0, 0), ("3", 3, 3), ("3-13", 3, 13), ("4+", 4, HIGHEST), ("0-0", 0, 0)],
)
def test_a_range_is_read(text: str, lowest: int, highest: int) -> None:
    assert Versions.parse(text) == Versions(lowest, highest)


@pytest.mark.parametrize("text", ["", "-1", "3-", "+", "5-3", "1,2", " 1", "1 - 2", "a", "40000", "None"])
def test_what_is_not_a_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a version range"):
        Versions.parse(text)


def test_both_ends_are_members() -> None:
    versions = Versions.parse("2-4")
    assert [version for version in range(7) if version in versions] == [2, 3, 4]
    assert list(versions) == [2, 3, 4]
    assert HIGHEST in Versions.parse("2+")


def test_covering() -> None:
    assert Versions.parse("0+").covers(Versions.parse("3-4"))
    assert not Versions.parse("3-4").covers(Versions.parse("0+"))
    assert Versions.parse("3-4").covers(NONE)
    assert not NONE.covers(Versions.parse("0"))


@pytest.mark.parametrize("text", ["none", "7", "0-3", "2+"])
def test_text_form_reads_back(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_versions_for_people() -> None:
    assert describe([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert describe([]) == ""
