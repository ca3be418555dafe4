r"""`ssl.principal.mapping.rules`: from the distinguished name of a client's certificate to its user name. Pure.

    rules        rule *( "," rule )
    rule         "DEFAULT"                                  the distinguished name itself
                 "RULE:" pattern "/" replacement "/" [LU]   if the whole name matches; L: lower case, U: upper case
    pattern      a regular expression; "/" is written "\/"
    replacement  text with $1, $2, ... for the pattern's groups, $0 for the whole match; "\" makes the next character
    literal

The first rule that matches decides. As in Apache Kafka, the number of a group that the pattern does not have is
text, if the pattern has groups.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

DEFAULT: Final = "DEFAULT"
_RULE: Final = "RULE:"
# A rule's pattern and replacement, up to a slash that no backslash stands before.
_PART: Final = re.compile(r"((?:\\.|[^\\/])*)/", re.DOTALL)
_FLAG: Final = re.compile(r"[LU]?")
_REST: Final = re.compile(r"\s*(?:,\s*|\Z)")

Replacement = tuple[str | int, ...]
"""A replacement: texts, and numbers of groups."""


class NoMatchingRule(Exception):
    """Error: no rule matches this name, so its client is refused."""


class MappingRules:
    """The rules in a text. Raise ValueError, which names the fault of a rule."""

    __slots__ = ("_rules",)

    def __init__(self, text: str) -> None:
        self._rules = _parsed(text.strip())
        if not self._rules:
            raise ValueError("must have a rule; DEFAULT takes the name as it is")

    def user(self, name: str) -> str:
        """Return the user name for a distinguished name. Raise NoMatchingRule."""
        for rule in self._rules:
            if rule is None:
                return name
            user = rule.apply(name)
            if user is not None:
                return user
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules is for {name!r}")


class _Rule:
    __slots__ = ("_flag", "_pattern", "_replacement")

    def __init__(self, pattern: str, replacement: str, flag: str) -> None:
        self._pattern = _compiled(pattern)
        self._replacement = _pieces(replacement, self._pattern.groups)
        self._flag = flag

    def apply(self, name: str) -> str | None:
        """Return the rule's result for a name; None if the rule does not match the name."""
        if self._pattern.fullmatch(name) is None:
            return None
        # As Java's replaceAll: what a search finds is replaced, which need not be what matched as a whole.
        result = self._pattern.sub(self._filled, name)
        return result.lower() if self._flag == "L" else result.upper() if self._flag == "U" else result

    def _filled(self, match: re.Match[str]) -> str:
        pieces = self._replacement
        return "".join(piece if isinstance(piece, str) else match[piece] or "" for piece in pieces)


def _parsed(text: str) -> tuple[_Rule | None, ...]:
    rules: list[_Rule | None] = []
    at = 0
    while at < len(text):
        rule: _Rule | None = None
        if text.startswith(DEFAULT, at):
            end = at + len(DEFAULT)
        elif text.startswith(_RULE, at):
            rule, end = _parsed_rule(text, at + len(_RULE))
        elif (rest := _REST.match(text, at)) is not None:  # an empty one
            at = rest.end()
            continue
        else:
            raise ValueError(f"{text[at:]!r} begins with neither DEFAULT nor RULE:")
        rest = _REST.match(text, end)
        if rest is None:
            raise ValueError(f"{text[end:]!r} is too much after a rule; rules have commas between them")
        rules.append(rule)
        at = rest.end()
    return tuple(rules)


def _parsed_rule(text: str, at: int) -> tuple[_Rule, int]:
    pattern = _PART.match(text, at)
    replacement = _PART.match(text, pattern.end()) if pattern is not None else None
    if pattern is None or replacement is None:
        raise ValueError(f"{text[at - len(_RULE) :]!r} is not RULE:PATTERN/REPLACEMENT/, with L or U behind it or not")
    flag = _FLAG.match(text, replacement.end())
    assert flag is not None
    return _Rule(pattern[1], replacement[1], flag[0]), flag.end()


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # sets of sets, which Java has and Python has not
            return re.compile(pattern, re.ASCII)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"the pattern {pattern!r} cannot be used here: {error}") from None


def _pieces(text: str, groups: int) -> list[str | int]:
    pieces: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                raise ValueError(f"the replacement {text!r} ends with a backslash that stands before nothing")
            pieces.append(text[at + 1])
            at += 2
        elif text[at] == "$":
            digits = re.compile(r"[0-9]+").match(text, at + 1)
            if digits is None:
                raise ValueError(f"the replacement {text!r} has a $ without a group's number; \\$ is the character")
            number, size = _group(digits[0], groups)
            if number is None and not groups:
                raise ValueError(f"the replacement {text!r} has a {text[at : at + 2]}, and its pattern has no group")
            pieces.append(text[at : at + 1 + size] if number is None else number)
            at += 1 + size
        else:
            pieces.append(text[at])
            at += 1
    return pieces


def _group(digits: str, groups: int) -> tuple[int | None, int]:
    """Return the group that the digits name, and the number of digits used: as many as still name a group.

    The group is None if the first digit names none.
    """
    number = int(digits[0])
    if number > groups:
        return None, 1
    size = 1
    while size < len(digits) and number * 10 + int(digits[size]) <= groups:
        number, size = number * 10 + int(digits[size]), size + 1
    return number, size
