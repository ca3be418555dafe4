"""SCRAM users who do not exist look like existing ones: in salt and iterations, over restarts, in CPU time."""

from __future__ import annotations

import base64
import hmac
from random import Random

import pytest

from shareq.broker.metadata.changes import PutScram
from shareq.broker.security import invented_credentials
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.broker.security.invented_credentials import Form, InventedCredentials, form_of
from shareq.broker.security.scram_keys import credential_from_password
from tests.support.clients.sasl import SaslWorld
from tests.support.each import for_each

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
STRANGERS = [f"stranger {number}" for number in range(40)]


def text_salt(chance: Random) -> bytes:
    """Return a salt as Apache Kafka's tools generate it: 130 random bits, in base 36."""
    number, digits = chance.getrandbits(130), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits.encode()


def credential(salt: bytes, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(salt, bytes(32), bytes(32), iterations)


def users(*credentials: ScramCredential, mechanism: str = SHA_256) -> dict[CredentialKey, ScramCredential]:
    return {CredentialKey(f"user {number}", mechanism): each for number, each in enumerate(credentials)}


def following(*credentials: ScramCredential, secret: bytes = b"secret") -> InventedCredentials:
    invented = InventedCredentials(secret)
    invented.follow(users(*credentials).items())
    return invented


class Door:
    """The first answer to a user's login over frames: salt and iterations."""

    def __init__(self) -> None:
        self.world = SaslWorld()

    def add(self, user: str, salt: bytes, iterations: int) -> None:
        key = CredentialKey(user, SHA_256)
        made = credential_from_password(SHA_256, "sesame", salt, iterations)
        self.world.services.metadata.alter_credentials([PutScram(key, made)])

    def ask(self, user: str, mechanism: str = SHA_256) -> tuple[bytes, int]:
        client = self.world.stranger()
        client.handshake(mechanism)
        answer = client.token(f"n,,n={user},r=nonce".encode())
        assert answer.error_code == 0
        fields = dict(field.split("=", 1) for field in bytes(answer.auth_bytes).decode().split(","))
        return base64.b64decode(fields["s"]), int(fields["i"])

    def restart(self) -> None:
        self.world._seed += 1
        self.world.restart()


# -- over frames


def test_salt_and_iterations_are_as_long_and_as_many_as_a_users() -> None:
    door = Door()
    door.add("carol", b"\xff" * 33, 8192)
    salts = [door.ask(user) for user in STRANGERS]
    assert {(len(salt), iterations) for salt, iterations in salts} == {(33, 8192)}
    assert len({salt for salt, _ in salts}) == len(STRANGERS)


def test_the_answer_is_the_same_after_a_restart() -> None:
    door = Door()
    before = [door.ask(user) for user in STRANGERS]
    for _ in range(2):
        door.restart()
        assert [door.ask(user) for user in STRANGERS] == before


def test_the_answer_is_the_same_after_a_crash() -> None:
    door = Door()
    before = door.ask("nobody")
    door.world._seed += 1
    door.world.crash()
    assert door.ask("nobody") == before


def test_every_broker_has_other_salts() -> None:
    one, two = Door(), Door()
    two.world._seed = 99
    two.world.services.env.rng.seed(99)
    assert one.ask("nobody") != two.ask("nobody")


def test_a_user_without_a_credential_for_this_mechanism_is_one_who_does_not_exist() -> None:
    door = Door()
    door.world.services.metadata.alter_credentials([PutScram(CredentialKey("carol", SHA_512), None)])
    carol, nobody = door.ask("carol", SHA_512), door.ask("nobody", SHA_512)
    assert (len(carol[0]), carol[1]) == (len(nobody[0]), nobody[1])


def test_those_who_exist_cost_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are counted, because the time is too short to measure."""
    door = Door()
    door.ask("carol")
    work: list[str] = []
    real = hmac.digest

    def counted(key: bytes, message: bytes, name: str) -> bytes:
        work.append(name)
        return real(key, message, name)

    monkeypatch.setattr(hmac, "digest", counted)
    costs = []
    for user in ("carol", "nobody"):
        work.clear()
        door.ask(user)
        costs.append(list(work))
    assert costs[0] == costs[1] != []


def test_the_secret_is_kept_with_the_metadata_and_never_returned(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    door = Door()
    door.ask("nobody")
    secret = door.world.services.metadata.own_secret()
    assert len(secret) == 32
    assert door.world.services.metadata.own_secret() == secret
    assert secret.hex() not in caplog.text


def test_a_secret_that_cannot_be_kept_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    door = Door()

    def full(changes: object) -> None:
        raise OSError("no room")

    door.world.db.before_commit = full
    assert door.ask("nobody") == door.ask("nobody")
    assert "could not be kept" in caplog.text


# -- the forms


def test_without_any_user_it_is_as_of_the_first_that_is_added() -> None:
    invented = following().of(SHA_256, "nobody")
    assert (len(invented.salt), invented.iterations) == (24, 4096)


def test_salts_of_apache_kafkas_tools_are_text() -> None:
    """130 bits give 25 or 26 digits."""
    chance = Random(7)
    real = [credential(text_salt(chance)) for _ in range(200)]
    assert {form_of(each) for each in real} == {Form(None, 4096)}
    invented = following(real[0])
    made = [invented.of(SHA_256, user).salt for user in STRANGERS]
    assert {form_of(credential(salt)) for salt in made} == {Form(None, 4096)}
    assert {len(salt) for salt in made} == {len(each.salt) for each in real if len(each.salt) >= 25}
    assert {salt[:1] for salt in made if len(salt) == 26} == {b"1"}


def test_text_that_is_not_of_apache_kafkas_tools_is_bytes() -> None:
    for salt in (b"z" * 26, b"UPPER CASE SALT 1234567", b"abc" * 5, bytes(26)):
        assert form_of(credential(salt)).salt_bytes == len(salt)


def test_all_forms_that_users_have_are_given() -> None:
    real = [credential(bytes(24)), credential(bytes(64)), credential(bytes(24), 8192)]
    invented = following(*real)
    assert {form_of(invented.of(SHA_256, user)) for user in STRANGERS} == {form_of(each) for each in real}


def test_another_user_of_a_known_form_changes_nothing() -> None:
    invented = following(credential(bytes(24)), credential(bytes(64)))
    before = [invented.of(SHA_256, user) for user in STRANGERS]
    invented.follow(users(credential(b"\xfe" * 64), credential(bytes(24)), credential(b"\xff" * 24)).items())
    assert [invented.of(SHA_256, user) for user in STRANGERS] == before


def test_another_form_changes_some_and_only_to_itself() -> None:
    invented = following(credential(bytes(24)), credential(bytes(64)))
    before = [invented.of(SHA_256, user) for user in STRANGERS]
    invented.follow(users(credential(bytes(24)), credential(bytes(64)), credential(bytes(32))).items())
    after = [invented.of(SHA_256, user) for user in STRANGERS]
    changed = [new for old, new in zip(before, after, strict=True) if new != old]
    assert 0 < len(changed) < len(STRANGERS) / 2
    assert {len(each.salt) for each in changed} == {32}


def test_a_form_goes_with_the_last_user_who_has_it() -> None:
    short, long = credential(bytes(24)), credential(bytes(64))
    invented = following(short, long, long)
    second, third = (CredentialKey(f"user {number}", SHA_256) for number in (1, 2))
    invented.follow([(second, short)])  # the same user with another password
    assert {form_of(invented.of(SHA_256, user)) for user in STRANGERS} == {form_of(short), form_of(long)}
    invented.follow([(third, None)])
    assert {form_of(invented.of(SHA_256, user)) for user in STRANGERS} == {form_of(short)}
    invented.follow([(third, None), (CredentialKey("stranger", SHA_512), None)])  # not there any more, and never there
    assert {form_of(invented.of(SHA_256, user)) for user in STRANGERS} == {form_of(short)}
    assert form_of(invented.of(SHA_512, "nobody")) == Form(24, 4096)


def test_users_of_one_mechanism_are_no_pattern_for_the_other() -> None:
    invented = following(credential(bytes(64)))
    invented.follow(users(credential(bytes(32)), mechanism=SHA_512).items())
    assert len(invented.of(SHA_256, "nobody").salt) == 64
    assert len(invented.of(SHA_512, "nobody").salt) == 32


@for_each("seed", range(20))
def test_after_any_changes_it_is_as_if_made_for_the_users_there_are(seed: int) -> None:
    chance = Random(seed)
    invented, known = following(), dict[CredentialKey, ScramCredential]()
    for _ in range(60):
        key = CredentialKey(f"user {chance.randrange(8)}", chance.choice((SHA_256, SHA_512)))
        made = credential(bytes(chance.choice((16, 24, 64)))) if chance.random() < 0.6 else None
        invented.follow([(key, made)])
        known.pop(key, None)
        if made is not None:
            known[key] = made
        new = InventedCredentials(b"secret")
        new.follow(known.items())
        for mechanism in (SHA_256, SHA_512):
            user = chance.choice(STRANGERS)
            assert invented.of(mechanism, user) == new.of(mechanism, user)


def test_a_change_costs_its_own_work_however_many_users_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential is changed without a pass over all 50,000 users, which would block the event loop."""
    world = SaslWorld()
    world.services.invented_credentials.of(SHA_256, "nobody")  # made, and follows
    made = credential(bytes(24))
    world.services.metadata.alter_credentials(
        [PutScram(CredentialKey(f"user {number}", SHA_256), made) for number in range(50_000)]
    )
    looks = 0

    def counted(each: ScramCredential) -> Form:
        nonlocal looks
        looks += 1
        return form_of(each)

    monkeypatch.setattr(invented_credentials, "form_of", counted)
    for number in range(10):
        key = CredentialKey(f"user {number}", SHA_256)
        world.services.metadata.alter_credentials([PutScram(key, credential(bytes(64)))])
        world.services.metadata.alter_credentials([PutScram(key, None)])
    assert looks == 10


def test_invented_keys_are_of_the_mechanism_and_of_the_user() -> None:
    invented = following()
    assert len(invented.of(SHA_256, "nobody").stored_key) == 32
    assert len(invented.of(SHA_512, "nobody").stored_key) == 64
    assert invented.of(SHA_256, "nobody") == following().of(SHA_256, "nobody")
    assert invented.of(SHA_256, "nobody") != invented.of(SHA_256, "nobody2")
    assert invented.of(SHA_256, "nobody") != following(secret=b"other").of(SHA_256, "nobody")
