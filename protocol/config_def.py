"""Declarations of configuration properties: name, type, default, bounds, documentation, and when they may change.

A `ConfigDef` is a table of `ConfigKey`s. It parses texts (property files, options, the Admin API) to typed values:
`bool`, `int`, `float`, `str`, a tuple of strings for a LIST, or None if that is the default.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypedDict, TypeVar, Unpack, overload

logger = logging.getLogger(__name__)

ConfigValue = bool | int | float | str | tuple[str, ...] | None

T = TypeVar("T")

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1


class ConfigError(ValueError):
    """The error for a property that cannot be used. `allowed` describes valid values; the message names property, value
    and `allowed`.
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


class UnknownConfigError(ConfigError):
    """The error for a name that a resource of this kind does not have. `hint` is one more sentence."""

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        ValueError.__init__(self, f"Unknown {kind} config name: {name}{hint}")
        self.name = name
        self.value = None
        self.allowed = hint


class ConfigType(IntEnum):
    """The types, with their numbers in DescribeConfigs responses."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """The sources of an effective value, with their numbers in DescribeConfigs responses."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


class UpdateMode(IntEnum):
    """The ways in which a broker property may change: only at start, at any time, or at any time for one broker by its
    id.
    """

    READ_ONLY = 0
    CLUSTER_WIDE = 1
    PER_BROKER = 2


_AT_START: Final = UpdateMode.READ_ONLY


class Validator(Protocol):
    """A condition for a typed value that is not null."""

    @property
    def allowed(self) -> str:
        """The end of a sentence that names the accepted values: "must be ..."."""

    def accepts(self, value: ConfigValue) -> bool: ...


class Range:
    """The numbers from `low` to `high`, both inclusive; None is open."""

    __slots__ = ("high", "low")

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self.low = low
        self.high = high

    @property
    def allowed(self) -> str:
        if self.high is None:
            return f"must be at least {self.low}"
        if self.low is None:
            return f"must be at most {self.high}"
        return f"must be between {self.low} and {self.high}"

    def accepts(self, value: ConfigValue) -> bool:
        if not isinstance(value, (int, float)):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


class OneOf:
    """The strings of a set. For a list, every element has to be one. Case matters unless `any_case`."""

    __slots__ = ("any_case", "choices")

    def __init__(self, *choices: str, any_case: bool = False) -> None:
        self.choices = choices
        self.any_case = any_case

    @property
    def allowed(self) -> str:
        named = [choice for choice in self.choices if choice]
        return f"must be {'empty or ' if '' in self.choices else ''}one of {', '.join(named)}"

    def accepts(self, value: ConfigValue) -> bool:
        texts = value if isinstance(value, tuple) else (value,)
        return all(isinstance(text, str) and self._plain(text) in self.choices for text in texts)

    def _plain(self, text: str) -> str:
        return text.lower() if self.any_case else text


class NonEmptyList:
    """The lists with at least one element, without duplicates and empty elements."""

    allowed: Final = "must name at least one element, and none twice"

    def accepts(self, value: ConfigValue) -> bool:
        return isinstance(value, tuple) and bool(value) and all(value) and len(set(value)) == len(value)


_IN_NAMES: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class NamesOrBeginnings:
    """The lists of topic names; a name that ends in `*` stands for all topics that begin so. `is_named` looks a topic
    up.
    """

    allowed: Final = "must be names of topics, or how they begin and a *, with commas between"

    def accepts(self, value: ConfigValue) -> bool:
        return isinstance(value, tuple) and all(each and _IN_NAMES.issuperset(each.removesuffix("*")) for each in value)


def is_named(patterns: Iterable[str], name: str) -> bool:
    """Return True if a pattern names the topic, or its beginning followed by `*`."""
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in patterns)


class LevelOrDefault:
    """The compression levels from `low` to `high` inclusive, and the codec's own default number."""

    __slots__ = ("default", "high", "low")

    def __init__(self, low: int, high: int, default: int) -> None:
        self.low = low
        self.high = high
        self.default = default

    @property
    def allowed(self) -> str:
        return f"must be between {self.low} and {self.high}, or equal to {self.default}"

    def accepts(self, value: ConfigValue) -> bool:
        return isinstance(value, int) and (value == self.default or self.low <= value <= self.high)


class BrokerDefault(NamedTuple):
    """A group property's default in the broker, and the least and the greatest value that a group may set.

    All three are broker properties: for `share.delivery.count.limit` they are `group.share.delivery.count.limit`,
    `group.share.min.delivery.count.limit` and `group.share.max.delivery.count.limit`. Each `..._within` has the bounds
    of one of them, both inclusive, None for open; by default these are the group property's bounds. `mode` is that of
    the default.
    """

    doc: str
    least: int
    greatest: int
    within: tuple[int, int | None] | None = None
    least_within: tuple[int, int | None] | None = None
    greatest_within: tuple[int, int | None] | None = None
    mode: UpdateMode = UpdateMode.READ_ONLY
    aliases: tuple[str, ...] = ()
    greatest_aliases: tuple[str, ...] = ()


class ConfigKey(Generic[T]):
    """One property, declared once, where its value is used: as an attribute of a class, or as a field of
    `shareq.protocol.settings`.

    `default` is the typed value if none is set; a key with default None accepts null. `internal` keys are accepted and
    never listed. `aliases` are older names of the property. `described_as` is the type that clients are shown: Apache
    Kafka's, if the value is parsed as another one here. For a group's property, `broker` declares its default in the
    broker. For a topic's property, `broker_names` are the broker's properties that it falls back to, in order of
    precedence.

    An instance of a class with such attributes has their values in its own dictionary, which Python reads first.
    """

    __slots__ = (
        "aliases", "broker", "broker_names", "default", "described_as", "doc", "internal", "mode", "name", "type",
        "validator",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        type: ConfigType,
        default: ConfigValue,
        doc: str,
        validator: Validator | None = None,
        *,
        mode: UpdateMode = UpdateMode.READ_ONLY,
        internal: bool = False,
        aliases: tuple[str, ...] = (),
        described_as: ConfigType | None = None,
        broker: BrokerDefault | None = None,
        broker_names: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.validator = validator
        self.doc = doc
        self.mode = mode
        self.internal = internal
        self.aliases = aliases
        self.described_as = type if described_as is None else described_as
        self.broker = broker
        self.broker_names = broker_names

    @overload
    def __get__(self, instance: None, owner: type[object]) -> ConfigKey[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[object]) -> T: ...
    def __get__(self, instance: object, owner: type[object]) -> ConfigKey[T] | T:
        if instance is None:
            return self
        raise AttributeError(f"{self.name} has no value yet")

    @property
    def sensitive(self) -> bool:
        """True if the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str) -> ConfigValue:
        """Return the typed value of a property's text. Raises ConfigError for a text of another type, or a value out of
        bounds.
        """
        value = _parse_text(self.name, self.type, text.strip())
        self.check(value)
        return value

    def check(self, value: ConfigValue) -> None:
        """Check a typed value. Raises ConfigError if it is out of bounds."""
        if value is None:
            if self.default is not None:
                raise ConfigError(self.name, "null", "must have a value")
        elif self.validator is not None and not self.validator.accepts(value):
            raise ConfigError(self.name, format_value(value), self.validator.allowed)


class _More(TypedDict, total=False):
    mode: UpdateMode
    internal: bool
    aliases: tuple[str, ...]
    described_as: ConfigType | None
    broker: BrokerDefault | None
    broker_names: tuple[str, ...]


class Declare(Generic[T]):
    """A maker of keys of one type: `integer("node.id", 1, "This broker's number.", at_least=0)`."""

    __slots__ = ("_type",)

    def __init__(self, type: ConfigType) -> None:
        self._type = type

    @overload
    def __call__(
        self,
        name: str,
        default: T,
        doc: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        valid: Validator | None = None,
        **more: Unpack[_More],
    ) -> ConfigKey[T]: ...
    @overload
    def __call__(
        self,
        name: str,
        default: None,
        doc: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        valid: Validator | None = None,
        **more: Unpack[_More],
    ) -> ConfigKey[T | None]: ...
    def __call__(
        self,
        name: str,
        default: Any,
        doc: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        valid: Validator | None = None,
        **more: Unpack[_More],
    ) -> Any:
        """Return the key of a property; other arguments are those of `ConfigKey`. Bounds are inclusive; `valid` is any
        other condition.
        """
        if at_least is not None or at_most is not None:
            valid = Range(at_least, at_most)
        return ConfigKey(name, self._type, default, doc, valid, **more)


boolean: Final = Declare[bool](ConfigType.BOOLEAN)
text: Final = Declare[str](ConfigType.STRING)
integer: Final = Declare[int](ConfigType.INT)
short: Final = Declare[int](ConfigType.SHORT)
long: Final = Declare[int](ConfigType.LONG)
double: Final = Declare[float](ConfigType.DOUBLE)
words: Final = Declare[tuple[str, ...]](ConfigType.LIST)
password: Final = Declare[str](ConfigType.PASSWORD)


def declared(settings: type[object]) -> Iterator[ConfigKey[Any]]:
    """Yield the keys that a class of settings and its bases have as attributes."""
    for each in settings.__mro__:
        yield from (key for key in vars(each).values() if isinstance(key, ConfigKey))


def broker_keys(key: ConfigKey[Any]) -> Iterator[ConfigKey[int]]:
    """Yield the broker's properties for a group's property: its default, its least and its greatest value."""
    broker = key.broker
    if broker is None:
        return
    kind, _, rest = key.name.partition(".")
    says = f"value that a {kind} group may set for itself."
    for name, default, doc, within, mode, aliases in (
        (f"group.{key.name}", key.default, broker.doc, broker.within, broker.mode, broker.aliases),
        (f"group.{kind}.min.{rest}", broker.least, f"The least {says}", broker.least_within, _AT_START, ()),
        (
            f"group.{kind}.max.{rest}",
            broker.greatest,
            f"The greatest {says}",
            broker.greatest_within,
            _AT_START,
            broker.greatest_aliases,
        ),
    ):
        bounds = key.validator if within is None else Range(*within)
        yield ConfigKey(name, key.type, default, doc, bounds, mode=mode, aliases=aliases)


class ConfigDef:
    """A table of keys by name, in the order of their definition. `canonical` resolves aliases."""

    def __init__(self, keys: Iterable[ConfigKey[Any]]) -> None:
        self.keys: dict[str, ConfigKey[Any]] = {key.name: key for key in keys}
        self._aliases = {alias: key.name for key in self.keys.values() for alias in key.aliases}

    def __contains__(self, name: str) -> bool:
        return name in self.keys

    def __getitem__(self, name: str) -> ConfigKey[Any]:
        return self.keys[name]

    def __iter__(self) -> Iterator[ConfigKey[Any]]:
        return iter(self.keys.values())

    def canonical(self, name: str) -> str | None:
        """Return the defined name for a name or an alias; None for any other text."""
        return name if name in self.keys else self._aliases.get(name)

    def names(self) -> list[str]:
        """Return every name that `canonical` accepts, aliases included."""
        return [*self.keys, *self._aliases]

    def defaults(self) -> dict[str, ConfigValue]:
        """Return a new dictionary of all defaults."""
        return {key.name: key.default for key in self.keys.values()}


def read_stored(
    values: dict[str, ConfigValue], stored: Mapping[str, str], key_of: Callable[[str], ConfigKey[Any]], owner: str
) -> None:
    """Parse a resource's stored texts into `values`.

    An unreadable text is left out, with a warning that names the `owner`.
    """
    for name, text in stored.items():
        try:
            values[name] = key_of(name).parse(text)
        except ConfigError as error:
            logger.warning("%s: stored property left out: %s", owner, error)


def int_value(values: Mapping[str, ConfigValue], name: str) -> int:
    """Return the value of a key whose values are integers and never null."""
    value = values[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, not a number")
    return value


def format_value(value: ConfigValue) -> str:
    """Return a value in the form of Kafka's property files and answers: `true`, `0.5`, `a,b`.

    None becomes the empty string.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    return "" if value is None else str(value)


def _parse_text(name: str, type: ConfigType, text: str) -> ConfigValue:
    if type is ConfigType.BOOLEAN:
        lowered = text.lower()
        if lowered not in ("true", "false"):
            raise ConfigError(name, text, "must be either true or false")
        return lowered == "true"
    if type in _INTEGER_BOUNDS:
        return _parse_integer(name, type, text)
    if type is ConfigType.DOUBLE:
        return _parse_double(name, text)
    if type is ConfigType.LIST:
        return tuple(part.strip() for part in text.split(",")) if text else ()
    return text


_INTEGER_BOUNDS: Final = {
    ConfigType.SHORT: 2**15 - 1,
    ConfigType.INT: INT_MAX,
    ConfigType.LONG: LONG_MAX,
}


def _parse_integer(name: str, type: ConfigType, text: str) -> int:
    bound = _INTEGER_BOUNDS[type]
    digits = text[1:] if text[:1] in ("+", "-") else text
    # The length counts first: Python refuses, at some cost, to convert thousands of digits.
    sound = len(digits) < 20 and digits.isascii() and digits.isdecimal()
    if not sound or not -bound - 1 <= int(text) <= bound:
        raise ConfigError(name, text[:40], f"must be a whole number of type {type.name}, at most {bound}")
    return int(text)


def _parse_double(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:  # also refuses a literal "nan"
        raise ConfigError(name, text[:40], "must be a number")
    return value
