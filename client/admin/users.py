"""SCRAM users: listing them, setting and removing their passwords."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, refused
from shareq.client.errors import BrokerError
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from shareq.protocol.generated.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from shareq.protocol.generated.move_user_scram_credentials import (
    MovedScramCredential,
    MoveUserScramCredentialsRequest,
    MoveUserScramCredentialsResponse,
)

MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_NAMES: Final = {number: name for name, number in MECHANISMS.items()}
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
DEFAULT_ITERATIONS: Final = 8192
"""The number of iterations that Apache Kafka's tools use."""
MOVED_TOGETHER: Final = 1_000


class KeptCredential(NamedTuple):
    """A credential as shareq keeps it: with these keys a client logs in as the user, without the password."""

    user: str
    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"KeptCredential({self.user}, {self.mechanism}, [hidden])"


class ScramCredential(NamedTuple):
    """The fact that a user can log in with a mechanism. The broker keeps no password."""

    user: str
    mechanism: str
    iterations: int


class Users:
    """The SCRAM users of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find(self, names: Sequence[str] | None = None) -> list[ScramCredential]:
        """Return the credentials of these users, or of all, sorted. Users without credentials are left out."""
        request = DescribeUserScramCredentialsRequest(None if names is None else [UserName(name) for name in names])
        answer = self._calls.any(request, DescribeUserScramCredentialsResponse, "users")
        found = []
        for row in answer.results:
            if row.error_code and row.error_code != ErrorCode.RESOURCE_NOT_FOUND:
                raise BrokerError(row.error_code, f"user {row.user}", row.error_message)
            found += [
                ScramCredential(row.user, _NAMES.get(each.mechanism, str(each.mechanism)), each.iterations)
                for each in row.credential_infos
            ]
        return sorted(found)

    def set_password(
        self, user: str, password: str, mechanism: str, salt: bytes, iterations: int = DEFAULT_ITERATIONS
    ) -> Outcome[bool]:
        """Let a user log in with this password, and no other, by a mechanism. `salt`: about 16 random bytes.

        The password is not sent: the keys that the broker stores are computed here.
        """
        salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)
        row = ScramCredentialUpsertion(user, MECHANISMS[mechanism], iterations, salt, salted)
        return self._alter(user, AlterUserScramCredentialsRequest(upsertions=[row]))

    def kept(self) -> list[KeptCredential]:
        """Return all credentials with their keys. Raises BrokerError, and UnsupportedApi on any broker but shareq."""
        answer = self._calls.any(MoveUserScramCredentialsRequest(None), MoveUserScramCredentialsResponse, "users")
        return [
            KeptCredential(
                row.user,
                _NAMES.get(row.mechanism, str(row.mechanism)),
                row.iterations,
                bytes(row.salt),
                bytes(row.stored_key),
                bytes(row.server_key),
            )
            for row in answer.credentials
        ]

    def add_kept(self, credentials: Sequence[KeptCredential]) -> list[Outcome[bool]]:
        """Add credentials with their keys; DUPLICATE_RESOURCE if the user has a different one for the mechanism.

        An empty call only asks whether the broker supports this. Raises as `kept` does.
        """
        outcomes: list[Outcome[bool]] = []
        for at in range(0, len(credentials) or 1, MOVED_TOGETHER):
            rows = [
                MovedScramCredential(each.user, MECHANISMS[each.mechanism], *each[2:])
                for each in credentials[at : at + MOVED_TOGETHER]
            ]
            answer = self._calls.any(MoveUserScramCredentialsRequest(rows), MoveUserScramCredentialsResponse, "users")
            outcomes += [
                refused(row.error_code, f"user {row.user}", row.error_message) or True for row in answer.results
            ]
        return outcomes

    def delete(self, user: str, mechanism: str) -> Outcome[bool]:
        """Delete a user's credential for a mechanism. RESOURCE_NOT_FOUND if it does not exist."""
        row = ScramCredentialDeletion(user, MECHANISMS[mechanism])
        return self._alter(user, AlterUserScramCredentialsRequest([row]))

    def _alter(self, user: str, request: AlterUserScramCredentialsRequest) -> Outcome[bool]:
        answer = self._calls.controller(request, AlterUserScramCredentialsResponse, f"user {user}")
        for row in answer.results:
            if error := refused(row.error_code, f"user {row.user}", row.error_message):
                return error
        return True
