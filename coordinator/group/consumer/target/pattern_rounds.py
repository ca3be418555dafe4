"""Rounds of matching all patterns of a group, after topics were created or the refresh interval has passed.

A group can have as many patterns as members, and all topics may match each, so a round is divided: each heartbeat
continues it with a bounded amount of work. As a heartbeat matches at least one pattern, and there are no more patterns
than members, a round ends when every member has sent a heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from shareq.coordinator.group.consumer.group import Activity, ResolvedRegex
from shareq.coordinator.group.consumer.patterns import PatternMatches

LEAST_RESOLVE_INTERVAL_MS: Final = 10_000
"""The least time between two rounds, if new topics are the reason for the second."""

MOST_AT_ONCE: Final = 5_000
"""The number of names after which a heartbeat matches no other pattern; a name takes one to two µs."""

_PER_PATTERN: Final = 25  # what a pattern costs that has nothing to match, in names


def due(
    wanted: Collection[str],
    mine: str | None,
    resolved: Collection[str],
    activity: Activity,
    refresh_interval_ms: int,
    wall_ms: int,
) -> list[str]:
    """Return the patterns of `wanted` to match now: first new ones, which are not in `resolved` (the sender's before
    others), then the rest of a round. A round begins if topics were created, or if `refresh_interval_ms` has passed
    since the last one.
    """
    age = wall_ms - activity.matched_ms
    if age > refresh_interval_ms or (activity.topics_created and age > LEAST_RESOLVE_INTERVAL_MS):
        activity.topics_created = False
        activity.matched_ms = wall_ms
        activity.to_match = sorted(wanted)
    missing = sorted(set(wanted).difference(resolved), key=lambda regex: (regex != mine, regex))
    return missing + [regex for regex in activity.to_match if regex in wanted and regex in resolved]


def resolve(
    regexes: Sequence[str],
    matches: PatternMatches,
    resolved: Mapping[str, ResolvedRegex],
    is_visible: Callable[[str], bool],
    wall_ms: int,
) -> tuple[dict[str, ResolvedRegex], list[str]]:
    """Match the patterns in turn against the topics that the sender may see. Return the changed results, and the
    patterns that are left for later heartbeats.
    """
    found: dict[str, ResolvedRegex] = {}
    looked_at = 0
    for position, regex in enumerate(regexes):
        if looked_at >= MOST_AT_ONCE:
            return found, list(regexes[position:])
        topics, matched = matches.topics(regex)
        topics = frozenset(filter(is_visible, topics))
        looked_at += _PER_PATTERN + matched + len(topics)
        before = resolved.get(regex)
        if before is None or before.topics != topics:
            found[regex] = ResolvedRegex(topics, 0, wall_ms)
            looked_at += len(topics)
    return found, []
