"""Settings whose fields are properties: tuples with names, each field declared together with its property.

    @settings
    class Session(NamedTuple):
        timeout_ms: int = setting(integer("session.timeout.ms", 45_000, "A member silent for so long leaves."))

`Session()` has the defaults, `keys_of(Session)` yields the properties, and `settings_from(Session, values)` returns the
effective settings. A field may be a class of settings itself; a field without a property has an ordinary default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast, overload

from shareq.protocol.config_def import ConfigKey, ConfigValue

V = TypeVar("V")
W = TypeVar("W")
S = TypeVar("S", bound=tuple[Any, ...])


class _Field(NamedTuple):
    key: ConfigKey[Any]
    read: Callable[[Any], object] | None

    def of(self, values: Mapping[str, ConfigValue]) -> object:
        value = values[self.key.name]
        return value if self.read is None else self.read(value)


_FIELDS: Final[dict[type, dict[str, _Field]]] = {}
_NESTED: Final[dict[type, dict[str, type]]] = {}


@overload
def setting(key: ConfigKey[V]) -> V: ...
@overload
def setting(key: ConfigKey[W], read: Callable[[W], V]) -> V: ...
def setting(key: ConfigKey[Any], read: Callable[[Any], object] | None = None) -> Any:
    """Return the default of a field that has a property; `read` converts the property's value to the field's."""
    return _Field(key, read)


def settings(made: type[S]) -> type[S]:
    """Decorate a NamedTuple with fields that were declared with `setting`: the properties' defaults become theirs."""
    defaults = cast(Any, made)._field_defaults
    _FIELDS[made] = {name: each for name, each in defaults.items() if isinstance(each, _Field)}
    _NESTED[made] = {name: type(each) for name, each in defaults.items() if type(each) in _FIELDS}
    for name, each in _FIELDS[made].items():
        defaults[name] = each.of({each.key.name: each.key.default})
    cast(Any, made).__new__.__defaults__ = tuple(defaults.values())
    return made


def keys_of(made: type[tuple[Any, ...]]) -> Iterator[ConfigKey[Any]]:
    """Yield the properties of a class of settings."""
    yield from (each.key for each in _FIELDS[made].values())
    for nested in _NESTED[made].values():
        yield from keys_of(nested)


def settings_from(made: type[S], values: Mapping[str, ConfigValue], **others: object) -> S:
    """Return the settings with these values, by property. `others` are the values of fields without a property."""
    given = {name: each.of(values) for name, each in _FIELDS[made].items()}
    nested: dict[str, object] = {name: settings_from(each, values) for name, each in _NESTED[made].items()}
    return cast(Any, made)(**given, **nested, **others)  # type: ignore[no-any-return]
