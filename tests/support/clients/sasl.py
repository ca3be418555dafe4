"""SASL over frames: a broker with a protected listener, and a client that can log in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from scramp import ScramClient

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.metadata.changes import PutScram
from shareq.broker.network.sasl_gate import SaslGates
from shareq.broker.security.credentials import CredentialKey
from shareq.broker.security.scram_keys import credential_from_password
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.primitives import Message

R = TypeVar("R", bound=Message)

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SALT = b"salt of sixteen."


def sasl_properties(**more: str) -> dict[str, str]:
    """Return a listener with PLAIN for alice (wonderland) and bob (builder), and SCRAM; underscores for dots."""
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required user_alice="wonderland" user_bob="builder";'
        ),
        **{key.replace("_", "."): value for key, value in more.items()},
    }


class SaslWorld(BrokerWorld):
    """A broker whose clients have to authenticate. Its SCRAM user is carol (looking-glass), for both mechanisms."""

    def __init__(self, properties: Mapping[str, str] | None = None, *, clock: VirtualClock | None = None) -> None:
        super().__init__(sasl_properties() if properties is None else properties, clock=clock)
        keys = [CredentialKey("carol", mechanism) for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")]
        self.broker.services.metadata.alter_credentials(
            [PutScram(key, credential_from_password(key.mechanism, "looking-glass", SALT, 4096)) for key in keys]
        )

    def stranger(self) -> SaslClient:
        return SaslClient(self)


class SaslClient:
    """A client on the protected listener. `connection` serves the requests after the login."""

    def __init__(self, world: SaslWorld) -> None:
        self.world = world
        self.connection: MockConnection = world.connect()
        side = self.connection.side
        security = world.config.security["SASL_PLAINTEXT"]
        services = world.services
        SaslGates(security, world.clock, services.scram_credential, services.env.secret_bytes).guard(side)

    def handshake(self, mechanism: str, version: int = 1) -> SaslHandshakeResponse:
        return self._call(SaslHandshakeRequest(mechanism), version, SaslHandshakeResponse)

    def token(self, token: bytes, version: int = 2) -> SaslAuthenticateResponse:
        return self._call(SaslAuthenticateRequest(token), version, SaslAuthenticateResponse)

    def plain(self, user: str = "alice", password: str = "wonderland", version: int = 2) -> SaslAuthenticateResponse:
        assert self.handshake("PLAIN").error_code == 0
        return self.token(f"\0{user}\0{password}".encode(), version)

    def scram(
        self, mechanism: str = "SCRAM-SHA-256", user: str = "carol", password: str = "looking-glass"
    ) -> SaslAuthenticateResponse:
        """Log in with SCRAM, check the server's signature and return the last answer."""
        assert self.handshake(mechanism).error_code == 0
        client = ScramClient([mechanism], user, password)
        first = self.token(client.get_client_first().encode())
        if first.error_code:
            return first
        client.set_server_first(bytes(first.auth_bytes).decode())
        final = self.token(client.get_client_final().encode())
        if not final.error_code:
            client.set_server_final(bytes(final.auth_bytes).decode())
        return final

    def _call(self, request: Message, version: int, response_class: type[R]) -> R:
        """Return the answer, which a failure delays by `connection.failed.authentication.delay.ms`."""
        self.connection.send(request, version)
        self.world.clock.run_until_idle()
        if not self.connection.frames:
            self.world.clock.advance(self.world.config.connection_failed_authentication_delay_ms)
        return self.connection.receive(response_class)
