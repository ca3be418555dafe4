"""One listener's properties. Those with the prefix `listener.name.NAME.` override the broker's. The keys determine
the types.
"""

from __future__ import annotations

from collections.abc import Mapping

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.security.tls.settings import Setting
from shareq.protocol.config_def import ConfigError, ConfigValue


class Given:
    """The values for one listener, each with the name of the property that sets it.

    `prefix` is the listener's, and `own` are its properties, named without the prefix. Properties that begin with
    `mechanism` (`oauthbearer.`) override those that do not.
    """

    def __init__(
        self, values: Mapping[str, ConfigValue], prefix: str, own: Mapping[str, str], mechanism: str = ""
    ) -> None:
        self._values = values
        self._prefix = prefix
        self._own = own
        self._mechanism = mechanism

    def name(self, key: str) -> str:
        """Return the full name of the property that sets the value of `key`."""
        own = self._own_name(key)
        return key if own is None else self._prefix + own

    def value(self, key: str) -> ConfigValue:
        """Return the value in the type of the property.

        Raise ConfigError for an invalid value; it names the property that sets it.
        """
        own = self._own_name(key)
        if own is None:
            return self._values[key]
        try:
            return BROKER_KEYS[key].parse(self._own[own])
        except ConfigError as error:
            raise ConfigError(self._prefix + own, error.value, error.allowed) from None

    def number(self, key: str) -> int:
        """Return the integer value of a required key. Raise ConfigError as `value` does."""
        value = self.value(key)
        assert isinstance(value, int)
        return value

    def setting(self, key: str) -> Setting | None:
        """Return the setting; None if the value is missing or blank."""
        value = self.value(key)
        return Setting(self.name(key), value) if isinstance(value, str) and value else None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the entries of a list, without empty ones; an empty tuple if it is not set."""
        value = self.value(key)
        return tuple(filter(None, value)) if isinstance(value, tuple) else ()

    def _own_name(self, key: str) -> str | None:
        if self._mechanism and self._mechanism + key in self._own:
            return self._mechanism + key
        return key if key in self._own else None
