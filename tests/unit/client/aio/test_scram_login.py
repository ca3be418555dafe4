"""SCRAM on asyncio, with a broker that wants many iterations: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeResponse
from shareq.protocol.primitives import Message
from tests.support.fakes.scripted_peer import Script, ScriptedBroker


def asks_for(iterations: int) -> Callable[[Message], Message]:
    def answer(request: Message) -> Message:
        assert isinstance(request, SaslAuthenticateRequest)
        first = bytes(request.auth_bytes).decode()
        if not first.startswith("n,,"):
            return SaslAuthenticateResponse(58, "wrong password")
        nonce = first.rpartition(",r=")[2]
        return SaslAuthenticateResponse(auth_bytes=f"r={nonce}2,s=c2FsdA==,i={iterations}".encode())

    return answer


def log_in(broker: ScriptedBroker) -> None:
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required username='a' password='b';".replace(
        "'", '"'
    )
    config = ClientConfig.from_properties(
        {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": jaas,
        }
    )

    async def run() -> None:
        network = Network(config)
        try:
            await network.refresh([])
        finally:
            network.close()
            await network.wait_closed()

    asyncio.run(run())


def test_a_password_is_hashed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed_on: list[threading.Thread] = []
    own = hashlib.pbkdf2_hmac

    def noticed(*given: Any) -> bytes:
        hashed_on.append(threading.current_thread())
        return own(*given)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", noticed)
    scripts: dict[ApiKey, Script] = {
        ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(mechanisms=["SCRAM-SHA-512"]),
        ApiKey.SASL_AUTHENTICATE: asks_for(16_384),
    }
    with ScriptedBroker(scripts) as broker, pytest.raises(AuthenticationFailed, match="wrong password"):
        log_in(broker)
    assert len(hashed_on) == 1
    assert hashed_on[0] is not threading.main_thread()


def test_more_iterations_than_kafka_has_are_refused() -> None:
    scripts: dict[ApiKey, Script] = {
        ApiKey.SASL_HANDSHAKE: lambda _: SaslHandshakeResponse(mechanisms=["SCRAM-SHA-512"]),
        ApiKey.SASL_AUTHENTICATE: asks_for(10_000_000),
    }
    with ScriptedBroker(scripts) as broker, pytest.raises(AuthenticationFailed, match="10000000 iterations"):
        log_in(broker)
