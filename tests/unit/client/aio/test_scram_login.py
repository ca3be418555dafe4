"""SCRAM on asyncio with a broker that asks for many iterations: the loop keeps running."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from typing import Any

import pytest

from shareq.client.aio.network import Network
from shareq.client.config import ClientConfig
from shareq.client.errors import AuthenticationFailed
from tests.support.fakes.scram_peer import SCRAM_LOGIN, wants_iterations
from tests.support.fakes.scripted_peer import ScriptedBroker


def log_in(broker: ScriptedBroker) -> None:
    config = ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap, **SCRAM_LOGIN})

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
    with (
        ScriptedBroker(wants_iterations(16_384)) as broker,
        pytest.raises(AuthenticationFailed, match="wrong password"),
    ):
        log_in(broker)
    assert len(hashed_on) == 1
    assert hashed_on[0] is not threading.main_thread()


def test_more_iterations_than_kafka_has_are_refused() -> None:
    with (
        ScriptedBroker(wants_iterations(10_000_000)) as broker,
        pytest.raises(AuthenticationFailed, match="10000000 iterations"),
    ):
        log_in(broker)
