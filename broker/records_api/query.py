"""Requests as values: paths and queries, and the refusal of invalid ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

from shareq.broker.records_api.limits import MOST_PARAMETERS, MOST_RANGES, RANGES
from shareq.broker.share.core.window.ranges import STATES

ROOT: Final = "/api/v1"
_HIGHEST_OFFSET: Final = 2**63 - 1


class Refused(Exception):
    """Error: a request gets no rows. It has an HTTP status, a code for programs, and a sentence."""

    def __init__(self, status: str, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def bad(message: str) -> Refused:
    """Return the refusal of an invalid query."""
    return Refused("400 Bad Request", "bad_request", message)


def not_found(message: str) -> Refused:
    """Return the refusal of a request for something that does not exist."""
    return Refused("404 Not Found", "not_found", message)


class RecordsQuery(NamedTuple):
    """A choice of ranges of a share partition: from the offset `first` on, at most `limit`.

    Only records in `states` (empty: all), and held by `member` (None: any), are chosen.
    """

    first: int
    limit: int
    states: frozenset[str]
    member: str | None


def segments_of(path: str) -> list[str]:
    """Return the parts of a path below `ROOT`, decoded. Raise Refused if the path is not below it."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise not_found(f"the API is at {ROOT}/share-groups")
    try:
        parts = [unquote(part, errors="strict") for part in path.removeprefix(ROOT).split("/")[1:]]
    except UnicodeDecodeError:
        raise bad("the path is no UTF-8") from None
    return parts[:-1] if parts and not parts[-1] else parts


def parameters_of(query: str, known: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of a query. Raise Refused if one is repeated, or is not in `known`."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict")
    except ValueError:
        raise bad("the query is not understood") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise bad(f"there is no parameter {name}: there are {', '.join(known) or 'none'}")
        if name in found:
            raise bad(f"{name} is given twice")
        found[name] = value
    return found


def number(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """Return a parameter as a whole number from `low` to `high`, both inclusive, or `default` if it is missing.
    Raise Refused.
    """
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and low <= int(text) <= high):
        raise bad(f"{name}={text[:40]}: must be a whole number from {low} to {high}")
    return int(text)


def records_query(query: str) -> RecordsQuery:
    """Return the query of the ranges of a share partition."""
    given = parameters_of(query, ("from", "limit", "state", "member"))
    states = frozenset(text for text in given.get("state", "").split(",") if text)
    unknown = states.difference(STATES)
    if unknown:
        raise bad(f"state={min(unknown)[:40]}: must be of {', '.join(STATES)}, with commas in between")
    return RecordsQuery(
        number(given, "from", 0, 0, _HIGHEST_OFFSET),
        number(given, "limit", RANGES, 1, MOST_RANGES),
        states,
        given.get("member") or None,
    )
