"""`--add-scram`: the first SCRAM user, who can then add others through the Admin API.

    SCRAM-SHA-256=[name=alice,password-file=/run/secrets/alice]

as `kafka-storage format --add-scram` accepts it, with two more sources of the password: a file (its text without the
line end) and an environment variable. A command line can be read by every user of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from shareq.broker.security.credentials import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_MECHANISMS,
    CredentialKey,
    ScramCredential,
)

_FORM: Final = re.compile(r"(SCRAM-SHA-\d+)=\[(.*)\]", re.DOTALL)
_PASSWORDS: Final = ("password", "password-file", "password-env")


class NewScramUser(NamedTuple):
    """A user to add if there is none of that name yet. `in_option`: the option contained the password itself."""

    key: CredentialKey
    password: str
    iterations: int
    in_option: bool = False

    def __repr__(self) -> str:
        return f"NewScramUser({self.key.user}, {self.key.mechanism}, [hidden])"

    def credential(self, random: bytes) -> ScramCredential:
        """Return the stored credential, derived from the password. `random` has `SALT_BYTES` bytes that were never
        used before.
        """
        from shareq.broker.security.scram_keys import credential_from_password

        return credential_from_password(self.key.mechanism, self.password, random, self.iterations)


def parse_add_scram(text: str, environment: Mapping[str, str]) -> NewScramUser:
    """Return the user that an option describes.

    Raise ValueError, whose text never has the password in it, and OSError if the password's file cannot be read.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or match[1] not in SCRAM_MECHANISMS:
        raise ValueError("must be SCRAM-SHA-256=[name=NAME,password-file=FILE], or the same with SCRAM-SHA-512")
    options = dict(_option(part) for part in match[2].split(","))
    given = [key for key in _PASSWORDS if key in options]
    unknown = options.keys() - {"name", "iterations", *_PASSWORDS}
    if not options.get("name") or len(given) != 1 or unknown:
        raise ValueError(f"must have name, one of {', '.join(_PASSWORDS)}, perhaps iterations, and nothing else")
    iterations = options.get("iterations", str(MIN_ITERATIONS))
    if not iterations.isdecimal() or not MIN_ITERATIONS <= int(iterations) <= MAX_ITERATIONS:
        raise ValueError(f"must have from {MIN_ITERATIONS} to {MAX_ITERATIONS} iterations")
    password = _password(given[0], options[given[0]], environment)
    if not password:
        raise ValueError("must have a password that is not empty")
    return NewScramUser(CredentialKey(options["name"], match[1]), password, int(iterations), "password" in options)


def _option(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip().removeprefix('"').removesuffix('"')


def _password(key: str, value: str, environment: Mapping[str, str]) -> str:
    if key == "password":
        return value
    if key == "password-env":
        if value not in environment:
            raise ValueError(f"must name an environment variable that is set, and {value} is not")
        return environment[value]
    with open(value, encoding="utf-8") as file:
        return file.read().rstrip("\r\n")
