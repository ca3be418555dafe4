"""Filters of DescribeClientQuotas requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.quotas.entity import DEFAULT, IP, KINDS, QuotaEntity

EXACT: Final = 0
DEFAULT_ENTITY: Final = 1
SPECIFIED: Final = 2

Filter = Mapping[str, tuple[int, str]]
"""The match that each kind has to have (EXACT, DEFAULT_ENTITY or SPECIFIED), and the name that EXACT is about."""


def matches(entity: QuotaEntity, wanted: Filter, *, strict: bool) -> bool:
    """Return True if the filter selects the entity. `strict`: it has no other kinds than the filter."""
    if not wanted:
        return not strict
    kinds = entity.by_kind()
    if not all(kind in kinds and _fits(kinds[kind] or DEFAULT, *wanted[kind]) for kind in wanted):
        return False
    return not strict or kinds.keys() == wanted.keys()


def filter_problem(kinds: list[str]) -> str | None:
    """Return the fault in a filter's kinds, all of which are known; None without a fault."""
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
