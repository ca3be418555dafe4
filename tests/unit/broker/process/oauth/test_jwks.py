"""Keys that verify tokens, and tokens that no key signed: another algorithm, none, a shared secret."""

from __future__ import annotations

import hmac
import json
import sys
import time
from base64 import urlsafe_b64encode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shareq.broker.process.oauth.jwks import (
    KeySet,
    MissingLibrary,
    UnknownKey,
    UnusableKeys,
    read_keys,
    require_library,
)
from shareq.broker.security.oauth.claims import TokenRefused
from tests.support.clients.tokens import SigningKey, claims_of, jwks, unsecured

PAYLOAD = json.dumps(claims_of("alice")).encode()
RSA, OTHER, EC = SigningKey("rsa"), SigningKey("other"), SigningKey("ec", "ES256")


@pytest.fixture(scope="module")
def keys() -> KeySet:
    return read_keys(jwks(RSA, EC))


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
def test_rsa(keys: KeySet, algorithm: str) -> None:
    assert keys.payload(RSA.sign(PAYLOAD, algorithm=algorithm)) == PAYLOAD


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "EdDSA"])
def test_elliptic_curves(algorithm: str) -> None:
    key = SigningKey("k", algorithm)
    assert read_keys(jwks(key)).payload(key.sign(PAYLOAD)) == PAYLOAD


def test_a_key_of_another_issuer_under_the_same_name(keys: KeySet) -> None:
    with pytest.raises(TokenRefused, match="its signature is not right") as failure:
        keys.payload(OTHER.sign(PAYLOAD, kid="rsa"))
    assert not isinstance(failure.value, UnknownKey)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_token_that_was_changed(keys: KeySet, part: int) -> None:
    parts = RSA.sign(PAYLOAD).split(".")
    text = parts[part]
    parts[part] = text[:20] + ("A" if text[20] != "A" else "B") + text[21:]
    with pytest.raises(TokenRefused):
        keys.payload(".".join(parts))


def test_an_unknown_key(keys: KeySet) -> None:
    with pytest.raises(UnknownKey, match=r"^no key for it, kid 'other' and alg 'RS256'$"):
        keys.payload(OTHER.sign(PAYLOAD))


@pytest.mark.parametrize("kid", ["rsa", None])
def test_a_token_without_a_signature(keys: KeySet, kid: str | None) -> None:
    with pytest.raises(TokenRefused, match="its alg 'none' is none that the keys are for"):
        keys.payload(unsecured(claims_of("alice")))
    header = json.dumps({"alg": "None", **({"kid": kid} if kid else {})}).encode()
    with pytest.raises(TokenRefused, match="its alg 'None'"):
        keys.payload(f"{part(header)}.{part(PAYLOAD)}.")


@pytest.mark.parametrize("secret", ["pem", "der", "jwk"])
@pytest.mark.parametrize("kid", ["rsa", None])
def test_a_public_key_is_no_shared_secret(keys: KeySet, secret: str, kid: str | None) -> None:
    """A token signed by HMAC with the public key as secret is refused (algorithm confusion)."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = RSA.private.public_key()
    shared = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(RSA.jwk()).encode(),
    }[secret]
    header = json.dumps({"alg": "HS256", **({"kid": kid} if kid else {})}).encode()
    signed = f"{part(header)}.{part(PAYLOAD)}"
    token = f"{signed}.{part(hmac.digest(shared, signed.encode(), 'sha256'))}"
    with pytest.raises(TokenRefused, match="its alg 'HS256' is none that the keys are for"):
        keys.payload(token)


def test_the_key_says_with_what_it_signs(keys: KeySet) -> None:
    only = read_keys(jwks(RSA.jwk(alg="RS512")))
    assert only.payload(RSA.sign(PAYLOAD, algorithm="RS512")) == PAYLOAD
    with pytest.raises(TokenRefused, match="its alg 'RS256'"):
        only.payload(RSA.sign(PAYLOAD))
    with pytest.raises(TokenRefused, match="its alg 'RS256'"):
        keys.payload(RSA.sign(PAYLOAD, kid="ec"))


def test_without_a_key_id_those_that_fit_are_tried(keys: KeySet) -> None:
    nameless = SigningKey(None)
    several = read_keys(jwks(EC, OTHER, nameless))
    assert several.payload(nameless.sign(PAYLOAD)) == PAYLOAD
    assert keys.payload(_without_kid(RSA)) == PAYLOAD
    with pytest.raises(TokenRefused, match="signature"):
        keys.payload(_without_kid(OTHER))


def test_what_is_critical_and_not_understood(keys: KeySet) -> None:
    token = RSA.sign(PAYLOAD, crit=["exotic"], exotic=1)
    with pytest.raises(TokenRefused):
        keys.payload(token)


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "...", "a.b.c", "a.b", "a.b.c.d.e", "eyJhbGciOiJSUzI1NiJ9", "-" * 500_000, "." * 500_000],
)
def test_what_is_no_token(keys: KeySet, token: str) -> None:
    with pytest.raises(TokenRefused, match="not a signed JWT"):
        keys.payload(token)


def test_headers_of_any_depth_and_kind(keys: KeySet) -> None:
    for header in (b"[" * 200_000, b'{"alg":' * 50_000, b'{"alg":["RS256"]}', b'{"alg":"RS256","kid":{}}', b"7", b"{}"):
        with pytest.raises(TokenRefused):
            keys.payload(f"{part(header)}.{part(PAYLOAD)}.AAAA")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("abcdefgh.-_AZ09", max_size=200), st.integers(0, 400), st.integers(0, 20))
def test_any_text_is_refused_and_not_shown(keys: KeySet, noise: str, at: int, removed: int) -> None:
    whole = EC.sign(PAYLOAD)
    for token in (noise, whole[:at] + noise + whole[at + removed :]):
        if token == whole:
            continue
        said, payload = "", PAYLOAD
        try:
            payload = keys.payload(token)
        except TokenRefused as error:
            said = str(error)
        assert payload == PAYLOAD, "base64 has several texts for the same bytes, and only these are taken"
        assert len(token) < 20 or token[-20:] not in said


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"kty": "oct", "k": "c2VjcmV0", "kid": "k"}, "kty 'oct' is none of"),
        ({**RSA.jwk(), "use": "enc"}, "not for signatures"),
        ({**RSA.jwk(), "key_ops": ["sign"]}, "not for signatures"),
        ({**RSA.jwk(), "alg": "HS256"}, "nothing is known to be signed"),
        ({**RSA.jwk(), "alg": "RSA-OAEP"}, "nothing is known to be signed"),
        ({**RSA.jwk(), "kid": 7}, "its kid is no text"),
        ({**RSA.jwk(), "n": "!"}, "it is damaged"),
        ({**RSA.jwk(), "n": None}, "it is damaged"),
        ({**EC.jwk(), "crv": "P-192"}, "nothing is known to be signed"),
        ({**EC.jwk(), "x": EC.jwk()["y"]}, "it is damaged"),
        (SigningKey("small", bits=1024).jwk(), "RSA of 1024 bits; at least 2048"),
        (["no object"], "no object"),
        ({}, "kty None is none of"),
    ],
)
def test_a_key_that_is_left_out(row: object, reason: str) -> None:
    document = json.dumps({"keys": [row, EC.jwk()]}).encode()
    found = read_keys(document)
    assert [key.id for key in found.keys] == ["ec"]
    assert reason in found.left_out[0]
    with pytest.raises(UnusableKeys, match=r"^it has no key that can verify tokens \("):
        read_keys(json.dumps({"keys": [row]}).encode())


@pytest.mark.parametrize(
    "document", [b"", b"\xff", b"{}", b"[]", b'{"keys": {}}', b'{"keys": []}', b"<html>", b"[" * 100_000]
)
def test_what_are_no_keys(document: bytes) -> None:
    with pytest.raises(UnusableKeys):
        read_keys(document)
    with pytest.raises(UnusableKeys, match="at most 1000"):
        read_keys(json.dumps({"keys": [{}] * 1001}).encode())


def test_a_private_key_is_not_taken_as_one() -> None:
    document = jwks(RSA.jwk(private=True))
    assert b'"d":' in document.replace(b" ", b"")
    (key,) = read_keys(document).keys
    assert not hasattr(key.key, "private_numbers")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    require_library()
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    with pytest.raises(MissingLibrary):
        require_library()


def test_without_what_it_verifies_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jwt.algorithms.has_crypto", False)
    with pytest.raises(MissingLibrary):
        require_library()


def test_the_longest_token_takes_no_time(keys: KeySet) -> None:
    header = part(json.dumps({"alg": "RS256", "kid": "rsa"}).encode())
    began = time.process_time()
    with pytest.raises(TokenRefused):
        keys.payload(f"{header}.{'A' * 520_000}.AAAA")
    assert time.process_time() - began < 0.5


def part(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _without_kid(key: SigningKey) -> str:
    nameless = SigningKey.__new__(SigningKey)
    nameless.kid, nameless.algorithm, nameless.private = None, key.algorithm, key.private
    return nameless.sign(PAYLOAD)
