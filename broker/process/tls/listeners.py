"""TLS of a broker's listeners: it is set up at the start, and renewed while the broker runs.

AlterConfigs of a listener's stores, and SIGHUP, renew certificates. If one is unsuitable, its listener keeps the
previous certificate. Open connections keep the one with which they began.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Clock
from shareq.broker.network.counters import Authentications
from shareq.broker.network.tls.stream import TlsPort
from shareq.broker.process.tls.context import Made, make_context
from shareq.broker.security.names import ANONYMOUS, user
from shareq.broker.security.tls.certificate import Subject, subject_of
from shareq.broker.security.tls.distinguished_name import distinguished_name
from shareq.broker.security.tls.mapping_rules import MappingRules, NoMatchingRule
from shareq.broker.security.tls.settings import TlsSettings
from shareq.protocol.config_def import ConfigError

logger = logging.getLogger(__name__)


class _Running(NamedTuple):
    """The present TLS of a listener: `port` is used by new connections; `made` is what its context was made from."""

    port: TlsPort
    made: Made


class TlsListeners:
    """One broker's listeners with TLS, by name. Everything runs on the loop's thread."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Read every store. Raise ConfigError."""
        self._running: dict[str, _Running] = {}
        for name, security in config.security.items():
            if security.tls is not None:
                made = make_context(security.tls)
                rules = security.tls.rules
                principal_of = None if rules is None else partial(principal_of_certificate, rules)
                self._running[name] = _Running(TlsPort(made.context, clock, Authentications(), principal_of), made)
                _note(name, "in use", made)

    def port(self, name: str) -> TlsPort:
        return self._running[name].port

    def certificate_ends_s(self, name: str) -> int:
        """Return when the listener's certificate expires, in seconds since the epoch."""
        return self._running[name].made.subject.not_after_s

    def prepare(self, config: BrokerConfig, names: Collection[str]) -> Callable[[], None]:
        """Read the stores configured for these listeners, named in lower case.

        Return a function that applies them; nothing changes before it is called. Raise ConfigError for an unknown
        listener, or an unsuitable certificate.
        """
        by_name = {name.lower(): name for name in self._running}
        made: dict[str, Made] = {}
        for lower in sorted(names):
            name = by_name.get(lower)
            settings = config.security[name].tls if name in config.security else None
            if name is None or settings is None:
                raise ConfigError(f"listener.name.{lower}", lower, f"must be a listener with TLS: {', '.join(by_name)}")
            made[name] = make_context(settings)
            _check_fits(self._running[name].made.subject, made[name], settings)
        return partial(self._use, made)

    def renew(self, config: BrokerConfig) -> None:
        """Read every store again, as after SIGHUP. An unsuitable certificate is logged, and not used."""
        for name in list(self._running):
            try:
                self.prepare(config, (name.lower(),))()
            except ConfigError as error:
                logger.error("listener %s: the certificate is not renewed: %s", name, error)

    def _use(self, made: dict[str, Made]) -> None:
        for name, each in made.items():
            port = self._running[name].port
            port.context = each.context
            self._running[name] = _Running(port, each)
            _note(name, "renewed", each)


def principal_of_certificate(rules: MappingRules, certificate: bytes | None) -> str:
    """Return the principal of a client with this certificate in DER, or with none.

    Raise ValueError, with the reason, if it is refused.
    """
    if certificate is None:
        return ANONYMOUS
    try:
        return user(rules.user(distinguished_name(subject_of(certificate).name)))
    except NoMatchingRule as error:
        raise ValueError(str(error)) from None


def _check_fits(before: Subject, made: Made, settings: TlsSettings) -> None:
    """Raise ConfigError if the new certificate does not fit the one in use: it may be another host's file (as Apache
    Kafka).
    """
    after = made.subject
    old, new = distinguished_name(before.name), distinguished_name(after.name)
    if not settings.allow_dn_changes and old.lower() != new.lower():
        allowed = f"has a certificate of {new!r}, and {old!r} is in use; ssl.allow.dn.changes=true allows that"
        raise ConfigError(made.source, made.value, allowed)
    if not settings.allow_san_changes and not before.alternatives <= after.alternatives:
        allowed = "has a certificate without all names (subjectAltName) in use; ssl.allow.san.changes=true allows that"
        raise ConfigError(made.source, made.value, allowed)
    if after.not_after_s <= time.time():
        raise ConfigError(made.source, made.value, f"has a certificate that ended at {_text(after.not_after_s)}")


def _note(name: str, what: str, made: Made) -> None:
    subject, ends_s = distinguished_name(made.subject.name), made.subject.not_after_s
    logger.info("listener %s: certificate %s: %s, until %s", name, what, subject, _text(ends_s))
    if ends_s <= time.time():
        logger.warning("listener %s: its certificate %s ended at %s", name, subject, _text(ends_s))


def _text(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
