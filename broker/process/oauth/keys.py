"""The keys of one issuer while the broker runs: they are read again periodically, and kept if that fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.process.oauth.fetch import InThread, NotRead, Outcome
from shareq.broker.process.oauth.jwks import KeySet, UnknownKey, UnusableKeys, read_keys
from shareq.broker.security.oauth.claims import TokenRefused
from shareq.broker.security.oauth.settings import OauthSettings

logger = logging.getLogger(__name__)

UNKNOWN_KEY_PAUSE_MS: Final = 10_000
"""The shortest time in ms between two reads caused by tokens with unknown keys."""


class IssuerKeys:
    """The keys of one issuer. `read` returns the document, or raises NotRead; it runs in a thread (`in_thread`). All
    else runs on the loop.

    At most one read is in progress. `listener` is the name for the log.
    """

    def __init__(
        self, listener: str, settings: OauthSettings, clock: Clock, read: Callable[[], bytes], in_thread: InThread
    ) -> None:
        self._listener = listener
        self._settings = settings
        self._clock = clock
        self._read = read
        self._in_thread = in_thread
        self._keys: KeySet | None = None
        self._failures = 0
        self._began_ms = 0
        self._reading = False
        self._stopped = False
        self._timer = Timer(clock)
        self._first: Callable[[], None] | None = None

    def start(self, tried: Callable[[], None]) -> None:
        """Begin to read periodically, until `stop`. `tried` is called when the first read has succeeded or failed."""
        self._first = tried
        self.refresh()

    def stop(self) -> None:
        """Stop reading. A second call has no effect."""
        self._stopped = True
        self._first = None
        self._timer.stop()

    @property
    def failure_count(self) -> int:
        """The number of failed reads since the last success."""
        return self._failures

    def payload(self, token: str) -> bytes:
        """Return the signed payload. Raise TokenRefused; after an unknown key, the keys are read again soon."""
        if self._keys is None:
            raise TokenRefused("the issuer's keys could not be read yet")
        try:
            return self._keys.payload(token)
        except UnknownKey:
            if self._clock.now_ms() - self._began_ms >= UNKNOWN_KEY_PAUSE_MS:
                self.refresh()
            raise

    def refresh(self) -> None:
        """Read the keys now, unless a read is in progress."""
        if self._reading or self._stopped:
            return
        self._timer.stop()
        self._reading = True
        self._began_ms = self._clock.now_ms()
        self._in_thread(self._read, self._done)

    def _done(self, outcome: Outcome) -> None:
        self._reading = False
        if self._stopped:
            return
        try:
            if isinstance(outcome, NotRead):
                raise outcome
            self._take(read_keys(outcome))
        except (NotRead, UnusableKeys) as error:
            self._failed(str(error))
        first, self._first = self._first, None
        if first is not None:
            first()

    def _take(self, keys: KeySet) -> None:
        before, self._keys = self._keys, keys
        ids = [key.id for key in keys.keys]
        if before is None or self._failures or ids != [key.id for key in before.keys]:
            logger.info("listener %s: keys of the tokens' issuer: %s", self._listener, ", ".join(map(repr, ids)))
            for each in keys.left_out:
                logger.warning("listener %s: a key of the tokens' issuer is left out, %s", self._listener, each)
        self._failures = 0
        self._timer.after(self._settings.refresh_ms, self.refresh)

    def _failed(self, reason: str) -> None:
        doubled = self._settings.retry_ms << min(self._failures, 40)
        self._failures += 1
        if self._failures == 1:  # the next ones are more of the same
            kept = "tokens are refused until they can" if self._keys is None else "those of before stay"
            where = self._settings.keys_url.text
            logger.error(
                "listener %s: the keys of the tokens' issuer cannot be read from %s: %s; %s",
                self._listener,
                where,
                reason,
                kept,
            )
        self._timer.after(min(doubled, self._settings.retry_max_ms), self.refresh)
