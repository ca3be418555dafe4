"""Every user, right, secret and quota survives a backup beside the running broker, and its restore."""

from __future__ import annotations

from pathlib import Path

from devtools.clients.wire import WireClient
from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.maintenance.backup.metadata import CopiedMetadata, copy_metadata
from shareq.broker.metadata.changes import (
    MetaState,
    PutAcl,
    PutConfig,
    PutFeature,
    PutMeta,
    PutQuota,
    PutScram,
    ResourceName,
)
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import CredentialKey
from shareq.broker.security.scram_keys import credential_from_password
from shareq.protocol.generated.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from shareq.protocol.generated.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from shareq.protocol.primitives import uuid_to_text
from shareq.testing import Broker
from tests.support.clients.access import STANDARD
from tests.wire.test_backup import done

MECHANISM = "SCRAM-SHA-256"
SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": MECHANISM,
    "authorizer.class.name": STANDARD,
    "super.users": "User:admin",
}
SALT = b"salt of sixteen."


def rows() -> MetaState:
    """One of each kind of what an operator sets and nothing else holds."""
    state = MetaState()
    right = (PatternType.LITERAL, "User:carol", "*", Operation.READ, Permission.ALLOW)
    for change in (
        PutMeta(CLUSTER_ID, uuid_to_text(bytes(range(16)))),
        PutScram(CredentialKey("carol", MECHANISM), credential_from_password(MECHANISM, "looking-glass", SALT, 4096)),
        PutScram(
            CredentialKey("carol", "SCRAM-SHA-512"), credential_from_password("SCRAM-SHA-512", "other", SALT, 8192)
        ),
        PutAcl(Acl(ResourceKind.TOPIC, "orders", *right)),
        PutQuota(QuotaEntity("carol"), "producer_byte_rate", 1e6),
        PutQuota(QuotaEntity(ip="192.0.2.7"), "connection_creation_rate", 5.0),
        PutConfig(ResourceName("broker", "1"), "listener.name.secure.ssl.keystore.location", "/etc/broker-2027.pem"),
        PutConfig(ResourceName("broker", "1"), "listener.name.secure.ssl.keystore.password", "wonderland"),
        PutConfig(ResourceName("broker", ""), "max.connections", "777"),
        PutConfig(ResourceName("group", "workers"), "share.auto.offset.reset", "earliest"),
        PutFeature("share.version", 0),
    ):
        state.apply(change)
    return state


def salt_of(broker: Broker, user: str) -> bytes:
    """What a login is asked: nonce (of the client and the broker), salt, iterations; without the nonce."""
    with WireClient(broker.address) as client:
        assert client.call(SaslHandshakeRequest(MECHANISM), 1, SaslHandshakeResponse).error_code == 0
        first = SaslAuthenticateRequest(f"n,,n={user},r=nonce".encode())
        answer = bytes(client.call(first, 2, SaslAuthenticateResponse).auth_bytes)
    return answer.partition(b",")[2]


def test_they_survive(tmp_path: Path) -> None:
    data, dest, restored = tmp_path / "data", tmp_path / "backups", tmp_path / "restored"
    state = rows()
    data.mkdir()
    copied = CopiedMetadata(state.meta[CLUSTER_ID], state, 1, digest_of(state))
    for name, content in copied.files().items():
        (data / name).write_bytes(content)
    with Broker(config=SETTINGS, data_dir=data) as broker:
        known, invented = salt_of(broker, "carol"), salt_of(broker, "nobody")
        done("backup", data, dest)
    done("restore", dest, restored)
    before, after = copy_metadata(str(data)).state, copy_metadata(str(restored)).state
    assert after == before
    for kind in ("acls", "configs", "quotas", "scram"):
        assert getattr(after, kind) == getattr(state, kind), kind
        assert getattr(after, kind), kind
    assert after.features["share.version"] == 0
    assert after.meta["own.secret"]
    with Broker(config=SETTINGS, data_dir=restored) as broker:
        assert salt_of(broker, "carol") == known
        assert salt_of(broker, "nobody") == invented, "else a client sees which users there are"
