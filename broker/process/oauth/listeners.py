"""OAUTHBEARER of a broker's listeners: the keys of each, and its exchanges."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Clock
from shareq.broker.process.oauth.fetch import NotRead, in_thread, read_document
from shareq.broker.process.oauth.jwks import MissingLibrary, UnusableKeys, read_keys, require_library
from shareq.broker.process.oauth.keys import IssuerKeys
from shareq.broker.process.tls.stores import read_trust_store
from shareq.broker.security.listener_security import OAUTHBEARER
from shareq.broker.security.oauth.claims import Bearer, TokenRefused, check_claims, claimed_subject
from shareq.broker.security.oauth.exchange import OauthExchange
from shareq.broker.security.oauth.settings import ClaimRules, OauthSettings
from shareq.broker.security.sasl_mechanisms import Exchange
from shareq.protocol.config_def import ConfigError

logger = logging.getLogger(__name__)

_NEEDS: Final = f"{OAUTHBEARER} needs `pip install 'shareq[oauth]'`"


class OauthListeners:
    """One broker's listeners with OAUTHBEARER, by name. Everything but the reading of keys runs on the loop."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Read the listeners' settings.

        Raise ConfigError if the extra is missing, or a named file cannot be used.
        """
        self._clock = clock
        self._settings: dict[str, OauthSettings] = {}
        self._keys: dict[str, IssuerKeys] = {}
        begin = in_thread(asyncio.get_running_loop().call_soon_threadsafe)
        for name, security in config.security.items():
            settings = security.oauth
            if settings is None:
                continue
            _require(security.mechanisms)
            read = partial(read_document, settings.keys_url.text, _context(settings))
            _check_file(settings, read)
            _warn_of_what_is_not_verified(name, settings.rules)
            self._settings[name] = settings
            self._keys[name] = IssuerKeys(name, settings, clock, read, begin)

    async def start(self) -> None:
        """Read the keys of every listener. Return when each read has succeeded or failed once."""
        tried = [asyncio.Event() for _ in self._keys]
        for keys, event in zip(self._keys.values(), tried, strict=True):
            keys.start(event.set)
        for event in tried:
            await event.wait()

    def stop(self) -> None:
        """Stop reading keys. A second call has no effect."""
        for keys in self._keys.values():
            keys.stop()

    def begin(self, name: str) -> Callable[[bool], Exchange] | None:
        """Return the function that begins the listener's exchanges; None if it has no OAUTHBEARER."""
        settings = self._settings.get(name)
        if settings is None:
            return None
        check = partial(_check, self._keys[name].payload, settings.rules, self._clock)
        return lambda again: OauthExchange(check, again=again)


def _check(payload_of: Callable[[str], bytes], rules: ClaimRules, clock: Clock, token: str) -> Bearer:
    """Return the token's bearer. Raise TokenRefused, which has the name that the token claims."""
    try:
        payload = payload_of(token)
        return check_claims(payload, rules, clock.wall_ms())
    except TokenRefused as error:
        raise TokenRefused(f"{error}; its {rules.sub_claim} is {claimed_subject(token, rules)}") from None


def _warn_of_what_is_not_verified(name: str, rules: ClaimRules) -> None:
    if not rules.audiences:
        logger.warning("listener %s: tokens are taken whatever their audience (aud), and without one", name)
    if rules.issuer is None:
        logger.warning("listener %s: tokens are taken whatever their issuer (iss), and without one", name)


def _require(mechanisms: tuple[str, ...]) -> None:
    try:
        require_library()
    except MissingLibrary:
        raise ConfigError("sasl.enabled.mechanisms", ",".join(mechanisms), _NEEDS) from None


def _context(settings: OauthSettings) -> ssl.SSLContext | None:
    """Return the TLS context that verifies the keys' server. Raise ConfigError."""
    trusted = settings.trusted
    if trusted is None:
        return None if settings.keys_url.text.startswith("file:") else ssl.create_default_context()
    given = trusted.location or trusted.certificates
    assert given is not None
    try:
        return ssl.create_default_context(cadata=read_trust_store(trusted))
    except (ssl.SSLError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        value = given.text if trusted.location is not None else "[hidden]"
        raise ConfigError(given.name, value, "has certificates that cannot be used") from None


def _check_file(settings: OauthSettings, read: Callable[[], bytes]) -> None:
    """Check a file during the start, so that a mistake in its name is found then. Raise ConfigError."""
    url = settings.keys_url
    if not url.text.startswith("file:"):
        return
    try:
        read_keys(read())
    except NotRead as error:
        raise ConfigError(url.name, url.text, f"cannot be read: {error}") from None
    except UnusableKeys as error:
        raise ConfigError(url.name, url.text, f"cannot be used: {error}") from None
