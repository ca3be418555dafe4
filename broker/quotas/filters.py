"""Filters of DescribeClientQuotas requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.quotas.entity import DEFAULT, IP, KINDS, QuotaEntity

EXACT: Final = 0
DEFAULT_ENTITY: Final = 1
SPECIFIED: Final = 2

Filter = Mapping[str, tuple[int, str]]
"""For each kind of entity, the match type (EXACT, DEFAULT_ENTITY or SPECIFIED), and the name for EXACT."""


def matches(entity: QuotaEntity, wanted: Filter, *, strict: bool) -> bool:
    """Return True if the filter matches the entity. `strict`: the entity may have no other kinds than the filter."""
    if not wanted:
        return not strict
    kinds = entity.by_kind()
    if not all(kind in kinds and _fits(kinds[kind] or DEFAULT, *wanted[kind]) for kind in wanted):
        return False
    return not strict or kinds.keys() == wanted.keys()


def filter_problem(kinds: list[str]) -> str | None:
    """Return the fault of a filter's kinds, all of which are known; None if there is none."""
    repeated = next((kind for kind in KINDS if kinds.count(kind) > 1), None)
    if repeated is not None:
        return f"Entity type {repeated} cannot appear more than once in the filter."
    if IP in kinds and len(kinds) > 1:
        return (
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
    return None


def _fits(name: str, match_type: int, wanted: str) -> bool:
    if match_type == SPECIFIED:
        return True
    return name == DEFAULT if match_type == DEFAULT_ENTITY else name == wanted != DEFAULT
