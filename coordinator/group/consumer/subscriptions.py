"""Subscriptions by pattern: RE2, which matches in linear time whatever a client thinks up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from shareq.coordinator.group.consumer.group import ResolvedRegex

LEAST_RESOLVE_INTERVAL_MS = 10_000
"""At most so often a group's patterns are matched against all topics because there are new ones."""


class Pattern(Protocol):
    """A compiled pattern."""

    def fullmatch(self, text: str) -> object | None: ...


class InvalidRegularExpression(ValueError):
    """Not a pattern in RE2 syntax; says why."""


def compiled(regex: str) -> Pattern:
    """Raises InvalidRegularExpression."""
    import re2  # of use to groups that subscribe by pattern alone

    options = re2.Options()
    options.log_errors = False
    try:
        pattern: Pattern = re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise InvalidRegularExpression(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None
    return pattern


def resolve(
    regexes: Iterable[str], topic_names: Iterable[str], is_visible: Callable[[str], bool], wall_ms: int
) -> Mapping[str, ResolvedRegex]:
    """The topics each pattern matches as a whole, as far as the member may know of them. A pattern that is none, which
    only an older log can have, matches nothing.
    """
    names = list(topic_names)
    found: dict[str, ResolvedRegex] = {}
    for regex in regexes:
        try:
            pattern = compiled(regex)
        except InvalidRegularExpression:
            found[regex] = ResolvedRegex(frozenset(), 0, wall_ms)
            continue
        topics = frozenset(name for name in names if pattern.fullmatch(name) is not None and is_visible(name))
        found[regex] = ResolvedRegex(topics, 0, wall_ms)
    return found
