"""Mutation runs without mutmut: known reasons for surviving mutants, and areas whose files have moved."""

from __future__ import annotations

import pytest

from scripts import mutation
from scripts.mutation import Area


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("shareq.coordinator.share.shard.xǁShareShardǁ_replay_update__mutmut_4", "`leader_epoch >= state"),
        ("shareq.broker.share.core.aborted.x_held_before__mutmut_1", "`AcquiredRange(first, last, 0)`: count 1"),
        ("shareq.coordinator.group.offsets.commit.x__is_longer__mutmut_2", "`3 * len(text) <= limit`"),
    ],
)
def test_the_reason_is_found_by_file_and_function(name: str, begin: str) -> None:
    (reason,) = mutation.reasons(name)
    assert reason.startswith(begin)


def test_of_another_function_or_file_nothing_is_known() -> None:
    assert mutation.reasons("shareq.broker.share.core.aborted.x_held__mutmut_1") == []
    assert mutation.reasons("shareq.broker.share.core.held.x_held_before__mutmut_1") == []


def test_an_area_names_what_has_moved() -> None:
    here = "tests/unit/scripts/test_mutation.py"
    area = Area(("protocol/rows.py", "protocol/none_of_these_*.py"), (f"{here}::test_a", "tests/none.py"))
    assert mutation.missing(area) == ["protocol/none_of_these_*.py", "tests/none.py"]
