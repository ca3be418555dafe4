"""The claims required of a signed token, and its lifetime."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shareq.broker.security.oauth.claims import Bearer, TokenRefused, check_claims, claimed_subject
from shareq.broker.security.oauth.settings import ClaimRules
from tests.support.clients.tokens import unsecured

NOW_S = 1_700_000_000
RULES = ClaimRules((), None, "scope", "sub", 30)
GOOD = {"sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 100}

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(max_size=3), LEAVES, max_size=2)


def check(rules: ClaimRules = RULES, /, *, at_s: float = NOW_S, **changes: object) -> Bearer:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not ...}
    return check_claims(json.dumps(claims).encode(), rules, int(at_s * 1000))


def test_a_good_token() -> None:
    assert check() == ("alice", 100_000)
    assert check(sub="  alice ") == ("alice", 100_000)
    assert check(exp=NOW_S + 0.5, iat=NOW_S) == ("alice", 500)
    assert check(RULES._replace(sub_claim="user"), user="carol") == ("carol", 100_000)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exp": ...}, "no claim exp"),
        ({"iat": ...}, "no claim iat"),
        ({"exp": "tomorrow"}, "no claim exp"),
        ({"exp": True}, "no claim exp"),
        ({"exp": None}, "no claim exp"),
        ({"exp": -1}, "no claim exp"),
        ({"exp": float("inf")}, "no claim exp"),
        ({"exp": float("nan")}, "no claim exp"),
        ({"exp": 10**400}, "no claim exp"),
        ({"exp": NOW_S - 30, "iat": 0}, "expired 30 s ago"),
        ({"exp": NOW_S + 5, "iat": NOW_S + 6}, "before it was issued"),
        ({"nbf": NOW_S + 31}, "not valid before 31 s"),
        ({"nbf": "soon"}, "no claim nbf"),
        ({"sub": ...}, "sub names nobody"),
        ({"sub": " "}, "sub names nobody"),
        ({"sub": 7}, "sub names nobody"),
        ({"sub": ["alice"]}, "sub names nobody"),
        ({"scope": ["a", "a"]}, "scope is not a list"),
        ({"scope": ["a", " "]}, "scope is not a list"),
        ({"scope": ["a", 1]}, "scope is not a list"),
        ({"scope": ""}, "scope is not a list"),
    ],
)
def test_a_token_that_is_not_good(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(TokenRefused, match=reason):
        check(**changes)


def test_clocks_may_differ_by_the_skew() -> None:
    assert check(exp=NOW_S - 29, iat=NOW_S - 99) == ("alice", 1_000)
    assert check(exp=NOW_S, iat=NOW_S) == ("alice", 30_000)
    assert check(nbf=NOW_S + 30) == ("alice", 100_000)
    with pytest.raises(TokenRefused):
        check(RULES._replace(clock_skew_s=0), exp=NOW_S)
    assert check(RULES._replace(clock_skew_s=0), at_s=NOW_S + 99.999).lifetime_ms == 1


@pytest.mark.parametrize("given", ["kafka", ["kafka"], ["other", "kafka"], [7, "kafka"]])
def test_one_audience_is_enough(given: object) -> None:
    assert check(RULES._replace(audiences=("queue", "kafka")), aud=given).user == "alice"


@pytest.mark.parametrize("given", ["", "kafk", ["other"], [], ..., {"kafka": 1}, [["kafka"]]])
def test_another_audience(given: object) -> None:
    with pytest.raises(TokenRefused, match="audience"):
        check(RULES._replace(audiences=("kafka",)), aud=given)


@pytest.mark.parametrize("given", ["kafka", ["kafka", "other"], [], ..., 7])
def test_any_audience_and_any_issuer_where_nothing_is_expected(given: object) -> None:
    """sasl.oauthbearer.allow.unverified.* accepts any, as in Apache Kafka from 4.4 on."""
    assert (RULES.audiences, RULES.issuer) == ((), None)
    assert check(RULES, aud=given, iss=given).user == "alice"


@pytest.mark.parametrize("given", ["https://issuer", "https://issuer.example/", "", ["https://issuer.example"], ...])
def test_another_issuer(given: object) -> None:
    rules = RULES._replace(issuer="https://issuer.example")
    assert check(rules, iss="https://issuer.example").user == "alice"
    with pytest.raises(TokenRefused, match="its issuer is"):
        check(rules, iss=given)


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b"7", b"null", b"{", b"[" * 100_000, b'{"a":' * 100_000])
def test_what_are_no_claims(payload: bytes) -> None:
    with pytest.raises(TokenRefused, match="its claims are not"):
        check_claims(payload, RULES, 0)


@given(st.dictionaries(st.sampled_from(["sub", "exp", "iat", "nbf", "aud", "iss", "scope"]), JSON))
@example({"sub": "alice", "iat": 0, "exp": NOW_S + 1})
def test_any_claims_are_good_or_refused(claims: dict[str, object]) -> None:
    """A token needs a user and an expiry, even if its times are right."""
    for given_claims in (claims, {**GOOD, **claims}):
        for rules in (RULES, RULES._replace(audiences=("kafka",), issuer="x")):
            said = ""
            try:
                bearer = check_claims(json.dumps(given_claims).encode(), rules, NOW_S * 1000)
            except TokenRefused as error:
                said = str(error)
            else:
                assert bearer.user == str(given_claims["sub"]).strip() != ""
                assert bearer.lifetime_ms >= 1
            assert "\n" not in said
            assert len(said) < 250


def test_whom_a_token_claims_to_be_for() -> None:
    assert claimed_subject(unsecured({"sub": "eve\nforged line"}), RULES) == repr("eve\nforged line")
    assert claimed_subject(unsecured({"sub": "x" * 500}), RULES) == "'" + "x" * 99 + "..."
    assert claimed_subject(unsecured({}), RULES) == "None"
    for text in ("", "a", "a.b.c", "a." + "W" * 100_000 + ".c"):
        assert claimed_subject(text, RULES) == "not to be seen"
