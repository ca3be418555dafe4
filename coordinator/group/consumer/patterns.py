"""Patterns that members subscribe to: RE2, which matches in linear time, whatever pattern a client sends.

google-re2 is an extra, because it has no wheels for musl. Without it patterns are refused: Python's own `re` may take
for ever, so that a client could stall the broker.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable
from functools import cache
from typing import Final, Protocol

logger = logging.getLogger(__name__)


class Pattern(Protocol):
    """A compiled pattern."""

    def fullmatch(self, text: bytes) -> object | None: ...


class InvalidRegularExpression(ValueError):
    """A pattern that is not in RE2 syntax; the message says why."""


class PatternsUnavailable(InvalidRegularExpression):
    """A pattern at a broker without google-re2."""

    def __init__(self) -> None:
        super().__init__("this broker takes no patterns: google-re2 is not installed (pip install 'shareq[re2]')")


def compiled(regex: str) -> Pattern:
    """Return a compiled pattern for names in UTF-8. It captures no groups, which makes it three times as fast.

    Raises InvalidRegularExpression, also if google-re2 is not installed.
    """
    try:
        import re2  # of use to groups that subscribe by pattern alone
    except ImportError:
        raise PatternsUnavailable from None

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        pattern: Pattern = re2.compile(regex.encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise InvalidRegularExpression(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None
    return pattern


def matching(regex: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that the pattern matches as a whole.

    An invalid pattern, which only an older log can have, matches nothing. Without google-re2 no pattern matches
    anything, which is logged once.
    """
    try:
        pattern = compiled(regex)
    except PatternsUnavailable as error:
        _warn_once(str(error))
        return _NONE
    except InvalidRegularExpression:
        return _NONE
    return frozenset(name for name in names if pattern.fullmatch(name.encode()) is not None)


@cache
def _warn_once(why: str) -> None:
    logger.warning("groups that subscribe by pattern get no partitions: %s", why)


class PatternMatches:
    """The topics that each pattern of a group matches by name, regardless of the members' rights.

    A pattern that was matched before is matched only against topics created since then.
    """

    __slots__ = ("_found", "_names", "_news")

    def __init__(self) -> None:
        self._names = _NONE
        self._found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}  # the topics it was matched against, matched
        self._news: dict[
            frozenset[str], tuple[frozenset[str], frozenset[str]]
        ] = {}  # topics that came and went since then

    def keep(self, regexes: Container[str | None]) -> None:
        """Forget all patterns but these."""
        for regex in [each for each in self._found if each not in regexes]:
            del self._found[regex]

    def look_at(self, names: frozenset[str]) -> None:
        """Set the names of all existing topics."""
        if names != self._names:
            self._names = names
            self._news.clear()

    def topics(self, regex: str) -> tuple[frozenset[str], int]:
        """Return the existing topics that match the pattern, and how many names had to be matched for it."""
        seen, found = self._found.get(regex, (_NONE, _NONE))
        came, went = self._news_since(seen)
        new = matching(regex, came) if came else _NONE
        if new or not found.isdisjoint(went):
            found = (found - went) | new
        self._found[regex] = (self._names, found)
        return found, len(came)

    def _news_since(self, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        news = self._news.get(names)
        if news is None:
            news = self._news[names] = (self._names - names, names - self._names)
        return news


_NONE: Final[frozenset[str]] = frozenset()
