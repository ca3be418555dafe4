"""The times at which an issuer's keys are fetched again; after a failure the earlier keys stay."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.process.oauth.fetch import NotRead, Outcome
from shareq.broker.process.oauth.jwks import UnknownKey
from shareq.broker.process.oauth.keys import UNKNOWN_KEY_PAUSE_MS, IssuerKeys
from shareq.broker.security.oauth.claims import TokenRefused
from shareq.broker.security.oauth.settings import ClaimRules, OauthSettings
from shareq.broker.security.tls.settings import Setting
from tests.support.clients.tokens import SigningKey, jwks

REFRESH_MS, RETRY_MS, RETRY_MAX_MS = 60_000, 100, 1_000
FIRST, SECOND, THIRD = SigningKey("first", "ES256"), SigningKey("second", "ES256"), SigningKey("third", "ES256")
DOWN = NotRead("Connection refused")


class Rig:
    """Keys whose document the test provides. `reads`: the number of fetches."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.reads = 0
        self.tried = 0
        self._done: Callable[[Outcome], None] | None = None
        rules = ClaimRules((), None, "scope", "sub", 30)
        url = Setting("sasl.oauthbearer.jwks.endpoint.url", "https://issuer.example/keys")
        settings = OauthSettings(url, None, REFRESH_MS, RETRY_MS, RETRY_MAX_MS, rules)
        self.keys = IssuerKeys("LOGIN", settings, self.clock, lambda: b"", self._in_thread)
        self.keys.start(self._count_tried)

    def _in_thread(self, _work: Callable[[], bytes], done: Callable[[Outcome], None]) -> None:
        assert self._done is None, "one read at a time"
        self.reads += 1
        self._done = done

    def _count_tried(self) -> None:
        self.tried += 1

    def give(self, outcome: Outcome) -> None:
        done, self._done = self._done, None
        assert done is not None, "nothing is being read"
        done(outcome)

    def reads_within(self, ms: int) -> int:
        before = self.reads
        self.clock.advance(ms)
        return self.reads - before

    def takes(self, key: SigningKey) -> bool:
        try:
            return self.keys.payload(key.sign(b"x")) == b"x"
        except TokenRefused:
            return False


def test_keys_are_read_again_now_and_then() -> None:
    rig = Rig()
    assert not rig.takes(FIRST)
    assert rig.tried == 0
    rig.give(jwks(FIRST))
    assert rig.tried == 1
    assert rig.takes(FIRST)
    assert rig.reads_within(REFRESH_MS - 1) == 0
    assert rig.reads_within(1) == 1
    rig.give(jwks(SECOND))
    assert (rig.takes(FIRST), rig.takes(SECOND), rig.tried) == (False, True, 1)


@pytest.mark.parametrize("bad", [DOWN, b"<html>", jwks(), jwks({"kty": "oct", "k": "c2VjcmV0", "kid": "first"})])
def test_keys_stay_when_the_next_cannot_be_had(bad: Outcome, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.give(jwks(FIRST))
    rig.clock.advance(REFRESH_MS)
    rig.give(bad)
    assert rig.takes(FIRST)
    (line,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert line.startswith("listener LOGIN: the keys of the tokens' issuer cannot be read from https://issuer.example/")
    assert line.endswith("; those of before stay")
    assert rig.reads_within(RETRY_MS) == 1
    rig.give(jwks(SECOND))
    assert rig.takes(SECOND)
    assert rig.reads_within(REFRESH_MS - 1) == 0


def test_failures_are_tried_again_after_ever_longer_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.give(DOWN)
    assert rig.tried == 1
    for wait in (100, 200, 400, 800, 1_000, 1_000):
        assert rig.reads_within(wait - 1) == 0
        assert rig.reads_within(1) == 1
        rig.give(DOWN)
    assert rig.keys.failure_count == 7
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1
    assert "tokens are refused until they can" in caplog.text
    with caplog.at_level(logging.INFO):
        rig.clock.advance(1_000)
        rig.give(jwks(FIRST))
    assert "keys of the tokens' issuer: 'first'" in caplog.text
    assert rig.keys.failure_count == 0
    assert rig.takes(FIRST)


def test_a_failure_for_ages_does_not_overflow() -> None:
    rig = Rig()
    for _ in range(2_000):
        rig.give(DOWN)
        rig.clock.advance(RETRY_MAX_MS)
    assert rig.keys.failure_count == 2_000


def test_an_unknown_key_has_them_read_again() -> None:
    rig = Rig()
    rig.give(jwks(FIRST))
    rig.clock.advance(UNKNOWN_KEY_PAUSE_MS)
    with pytest.raises(UnknownKey):
        rig.keys.payload(SECOND.sign(b"x"))
    assert rig.reads == 2
    rig.give(jwks(FIRST, SECOND))
    assert rig.takes(SECOND)
    assert rig.reads_within(REFRESH_MS - 1) == 0


def test_strangers_cannot_have_them_read_all_the_time() -> None:
    """Fetches are limited, however many key names strangers invent, but a key that is really new is not missed."""
    rig = Rig()
    rig.give(jwks(FIRST))
    for _ in range(100):
        for _ in range(20):
            assert not rig.takes(THIRD)
        rig.clock.advance(UNKNOWN_KEY_PAUSE_MS // 100)
    assert rig.reads == 1
    assert not rig.takes(SECOND)
    assert not rig.takes(THIRD)
    assert rig.reads == 2
    rig.give(jwks(FIRST, SECOND))
    assert rig.takes(SECOND)


def test_a_stop_ends_it_all() -> None:
    rig = Rig()
    rig.keys.stop()
    rig.give(jwks(FIRST))
    assert not rig.takes(FIRST)
    rig.keys.stop()
    rig.keys.refresh()
    assert rig.reads_within(10 * REFRESH_MS) == 0
    assert rig.tried == 0


def test_the_same_keys_again_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        rig = Rig()
        for _ in range(3):
            rig.give(jwks(FIRST, {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"}))
            rig.clock.advance(REFRESH_MS)
    lines = [each.getMessage() for each in caplog.records]
    assert lines == [
        "listener LOGIN: keys of the tokens' issuer: 'first'",
        "listener LOGIN: a key of the tokens' issuer is left out, 'shared': kty 'oct' is none of RSA, EC, OKP",
    ]
