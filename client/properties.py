"""Properties as text: each has a reader; one without a reader is an error that suggests the intended name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from shareq.client.errors import ConfigError

T = TypeVar("T")

_RECORDS: Final = "keys and values are handed out as bytes"
_ACKNOWLEDGED: Final = "records of a share group are acknowledged, not committed"
_GROUP: Final = "share groups have no such setting"
_JAVA: Final = "names a Java class, and there is no Java here"

REFUSED: Final[dict[str, str]] = {
    "group.id": "is not a property of the connection; it is given where the group is joined",
    "auto.offset.reset": "where a share group starts is its own config, share.auto.offset.reset",
    "enable.auto.commit": _ACKNOWLEDGED,
    "auto.commit.interval.ms": _ACKNOWLEDGED,
    "isolation.level": "what of transactions is seen is the share group's own config, share.isolation.level",
    "key.deserializer": _RECORDS,
    "value.deserializer": _RECORDS,
    "interceptor.classes": _RECORDS,
    "group.instance.id": _GROUP,
    "group.protocol": _GROUP,
    "partition.assignment.strategy": _GROUP,
    "sasl.client.callback.handler.class": _JAVA,
    "sasl.login.callback.handler.class": _JAVA,
    "sasl.login.class": _JAVA,
    "ssl.engine.factory.class": _JAVA,
    "metric.reporters": _JAVA,
    "security.providers": _JAVA,
    "ssl.protocol": "is not supported; ssl.enabled.protocols says which versions of TLS may be used",
    "ssl.cipher.suites": "is not supported; OpenSSL's own choice of ciphers is used",
}


class Properties:
    """Properties that are read one by one. `prefix` stands before their names in errors.

    Values are shown in errors only where they cannot be a secret.
    """

    def __init__(self, properties: Mapping[str, str], prefix: str = "") -> None:
        self._left = dict(properties)
        self._prefix = prefix
        self._known: set[str] = set()
        for name, why in REFUSED.items():
            if name in self._left:
                raise self.error(name, why)

    def take(self, name: str, parse: Callable[[str], T], *, secret: bool = False) -> T | None:
        """Return the value of a property, None if it is not given.

        Raises ConfigError with the objection of `parse`.
        """
        self._known.add(name)
        text = self._left.pop(name, None)
        if text is None:
            return None
        try:
            return parse(text if secret else text.strip())
        except ValueError as error:
            raise self.error(name, str(error) if secret else f"{text!r}: {error}") from None

    def required(self, name: str, parse: Callable[[str], T]) -> T:
        """Take like `take` a property that must be given."""
        value = self.take(name, parse)
        if value is None:
            raise self.error(name, "must be given")
        return value

    def given(self, names: tuple[str, ...]) -> str | None:
        """Return the first of these names that was given and is not taken yet."""
        self._known.update(names)
        return next((name for name in names if name in self._left), None)

    def nothing_left(self) -> None:
        """Raise ConfigError for a property that no reader took. Its value is not shown: it may be a misspelt secret."""
        for name in sorted(self._left):
            close = get_close_matches(name, sorted(self._known), 1, 0.8)
            hint = f"did you mean {self._prefix}{close[0]}?" if close else f"known are {', '.join(sorted(self._known))}"
            raise self.error(name, f"is not a property of this client; {hint}")

    def error(self, name: str, text: str) -> ConfigError:
        return ConfigError(f"{self._prefix}{name}: {text}")


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return a reader of numbers from `lowest` to `highest`, both included, that raises ValueError
    for anything else.
    """

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = lowest - 1
        if not lowest <= value <= highest:
            raise ValueError(f"must be a whole number from {lowest} to {highest}")
        return value

    return parse


def one_of(*allowed: str) -> Callable[[str], str]:
    """Return a parser of these words, in capitals, that raises ValueError for any other.

    Case does not matter, as in Java.
    """

    def parse(text: str) -> str:
        if text.upper() not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return text.upper()

    return parse


def boolean(text: str) -> bool:
    """Read true or false, in any case. Raises ValueError for anything else."""
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def listed(text: str) -> list[str]:
    """Return the parts between commas, without blanks around them and without empty ones."""
    return [part for part in (part.strip() for part in text.split(",")) if part]
