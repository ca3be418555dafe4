"""Credentials for SCRAM users that do not exist, so that the first answer does not reveal which users exist. Pure.

A salt has a form: its length, and the way it is made. The form depends on the tool that added the user, and is
visible in the first answer, as are the iterations. A user who does not exist gets salt and iterations in the form of
some existing user of the mechanism, the same ones as long as users of that form exist, and keys that match no known
password.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from shareq.broker.security.credentials import MIN_ITERATIONS, SALT_BYTES, CredentialKey, ScramCredential
from shareq.broker.security.scram_keys import HASHES

# Apache Kafka's tools: new BigInteger(130, random).toString(36), as text.
_TEXT_BITS: Final = 130
_TEXT: Final = re.compile(rb"[0-9a-z]{20,26}")
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class Form(NamedTuple):
    """The form of a salt. `salt_bytes` is its number of random bytes; None for a text, as Apache Kafka's tools make
    it.
    """

    salt_bytes: int | None
    iterations: int


_NEW: Final = Form(SALT_BYTES, MIN_ITERATIONS)


def form_of(credential: ScramCredential) -> Form:
    """Return the form of a credential."""
    salt = credential.salt
    is_text = _TEXT.fullmatch(salt) is not None and int(salt, 36) >> _TEXT_BITS == 0
    return Form(None if is_text else len(salt), credential.iterations)


class InventedCredentials:
    """The invented credentials. `secret` is the broker's own, the same after each start: a client that knew it could
    find out which users exist.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._form_by_user: dict[CredentialKey, Form] = {}
        self._forms: dict[str, Counter[Form]] = {}  # how many users of each mechanism have it; none that no user has

    def follow(self, changes: Iterable[tuple[CredentialKey, ScramCredential | None]]) -> None:
        """Note that these users' credentials were changed or removed, so that invented ones resemble the existing
        ones.

        The cost depends on the number of changes, not on the number of users.
        """
        for key, credential in changes:
            forms = self._forms.setdefault(key.mechanism, Counter())
            before = self._form_by_user.pop(key, None)
            if before is not None:
                forms[before] -= 1
                if not forms[before]:
                    del forms[before]
            if credential is not None:
                form = form_of(credential)
                self._form_by_user[key] = form
                forms[form] += 1

    def of(self, mechanism: str, user: str) -> ScramCredential:
        """Return the credential invented for a user that does not exist. Raise KeyError for an unknown mechanism."""
        name = HASHES[mechanism]
        seed = f"{mechanism} {user}"
        forms = self._forms.get(mechanism) or [_NEW]
        # Each form has a number of its own for this user, so that another one rarely changes which has the largest.
        form = max(forms, key=lambda each: self._digest(name, f"form {each.salt_bytes} {each.iterations} {seed}"))
        if form.salt_bytes is None:
            salt = _in_digits(int.from_bytes(self._digest(name, f"salt {seed}")) & ((1 << _TEXT_BITS) - 1))
        else:
            salt = hashlib.shake_256(self._digest(name, f"salt {seed}")).digest(form.salt_bytes)
        stored, server = (self._digest(name, f"{key} {seed}") for key in ("stored", "server"))
        return ScramCredential(salt, stored, server, form.iterations)

    def _digest(self, name: str, text: str) -> bytes:
        return hmac.digest(self._secret, text.encode(), name)


def _in_digits(number: int) -> bytes:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits.encode()
