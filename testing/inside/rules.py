"""The rules of faults, in the form sent to a broker, and their matching with requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import Message, Structure

Action = Literal["error", "delay", "disconnect", "drop_answer", "hold", "hold_answer", "crash", "crash_after"]

_GROUPS: Final = ("group_id", "group", "groups_names", "groups", "coordinator_keys", "key")
_TOPICS: Final = ("topic", "topic_name", "name")


@dataclass(frozen=True, slots=True)
class Rule:
    """The choice of requests, and what happens to them.

    It matches requests of `api` that fit all fields that are not None; of these only the `nth`, counted from 1, or the
    first `times`. `seconds` belongs to a delay, `code` to an error.
    """

    number: int
    api: ApiKey
    action: Action
    nth: int | None = None
    times: int | None = None
    client_id: str | None = None
    group: str | None = None
    topic: str | None = None
    code: int = 0
    seconds: float = 0.0

    @property
    def reads_body(self) -> bool:
        """True if the request's body has to be read to match it."""
        return self.group is not None or self.topic is not None

    def counts(self, seen: int) -> bool:
        """Return True if the rule applies to the `seen`th request that matches, counted from 1."""
        if self.nth is not None:
            return seen == self.nth
        return self.times is None or seen <= self.times

    def to_json(self) -> dict[str, Any]:
        """Return the rule in the form sent to a broker."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, sent: dict[str, Any]) -> Rule:
        """Return the rule in a form that `to_json` returned."""
        return cls(**{**sent, "api": ApiKey(sent["api"])})


def api_of(name: str) -> ApiKey:
    """Return the API of a Kafka name (`ShareFetch`). Raises ValueError for an unknown one."""
    wanted = name.replace("_", "").upper()
    for key in ApiKey:
        if key.name.replace("_", "") == wanted:
            return key
    names = ", ".join("".join(part.capitalize() for part in key.name.split("_")) for key in ApiKey)
    raise ValueError(f"{name}: must be one of {names}")


def code_of(name: str | int) -> ErrorCode:
    """Return the error code of a name (`NOT_LEADER_OR_FOLLOWER`) or number. Raises ValueError for an unknown one."""
    try:
        return ErrorCode(name) if isinstance(name, int) else ErrorCode[name.upper()]
    except (KeyError, ValueError):
        raise ValueError(f"{name}: must be the name of an error code of Kafka, as NOT_LEADER_OR_FOLLOWER") from None


def names_group(request: Message, group: str) -> bool:
    """Return True if a request is about a group."""
    return any(value == group for name, value in _texts(request) if name in _GROUPS)


def names_topic(request: Message, topic: str, topic_id: bytes | None) -> bool:
    """Return True if a request is about a topic, by its name or id."""
    if any(value == topic for name, value in _texts(request) if name in _TOPICS or name == "topics"):
        return True
    return topic_id is not None and topic_id in _ids(request)


def _texts(part: Structure) -> Iterator[tuple[str, str]]:
    for name in part.FIELDS:
        value = getattr(part, name)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str):
                yield name, each
            elif isinstance(each, Structure):
                yield from _texts(each)


def _ids(part: Structure) -> Iterator[bytes]:
    for name in part.FIELDS:
        value = getattr(part, name)
        if name == "topic_id":
            yield bytes(value)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, Structure):
                yield from _ids(each)
