"""A broker's side of a SCRAM login that never finishes: it asks for a given number of iterations."""

from __future__ import annotations

from typing import Final

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import Script

SCRAM_LOGIN: Final = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b";',
}
"""Properties of a client that logs in to it."""


def wants_iterations(count: int) -> dict[ApiKey, Script]:
    def answer(request: Message) -> Message:
        assert isinstance(request, SaslAuthenticateRequest)
        first = bytes(request.auth_bytes).decode()
        if not first.startswith("n,,"):
            return SaslAuthenticateResponse(58, "wrong password")
        nonce = first.rpartition(",r=")[2]
        return SaslAuthenticateResponse(auth_bytes=f"r={nonce}2,s=c2FsdA==,i={count}".encode())

    return {
        ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(mechanisms=["SCRAM-SHA-512"]),
        ApiKey.SASL_AUTHENTICATE: answer,
    }
