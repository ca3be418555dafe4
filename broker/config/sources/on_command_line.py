"""A check for secrets on a command line, which every user of a machine can read. Pure."""

from __future__ import annotations

from typing import Final

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.listener_properties import is_listener_property, listener_of
from shareq.broker.config.sources.providers import is_reference

_JAAS: Final = "sasl.jaas.config"
_SECRET_OPTIONS: Final = ("user_", "password", "secret")


def has_secret(name: str, text: str) -> bool:
    """Return True if the text contains a secret. A reference to one, such as `${file:...}`, does not count."""
    text = text.strip()
    if name.lower().endswith(_JAAS):
        return _jaas_has_secret(text)
    if is_listener_property(name):
        name = name.split(listener_of(name) + ".", 1)[-1]
    canonical = BROKER_KEYS.canonical(name)
    return bool(text) and canonical is not None and BROKER_KEYS[canonical].sensitive and not is_reference(text)


def _jaas_has_secret(text: str) -> bool:
    """Return True if a JAAS text has a secret, or cannot be parsed. Entries of SCRAM and OAuth usually have none."""
    if not text or is_reference(text):
        return False
    from shareq.protocol.jaas import parse_jaas  # only those who use it pay for it

    try:
        options = parse_jaas(text).options
    except ValueError:
        return True
    return any(
        value and not is_reference(value)
        for key, value in options.items()
        if any(part in key.lower() for part in _SECRET_OPTIONS)
    )
