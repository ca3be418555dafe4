"""ACLs and SCRAM credentials over the Admin API: CreateAcls, DescribeAcls, DeleteAcls, and KIP-554's two RPCs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.metadata.changes import DropAcl, PutAcl, PutScram
from shareq.broker.metadata.sqlite import SqliteMetaDb
from shareq.broker.security.credentials import CredentialKey
from shareq.broker.security.scram_keys import credential_from_salted
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from shareq.protocol.generated.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from shareq.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from shareq.protocol.generated.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from shareq.protocol.generated.move_user_scram_credentials import (
    MovedScramCredential,
    MoveUserScramCredentialsRequest,
    MoveUserScramCredentialsResponse,
    ShownScramCredential,
)
from tests.support.clients.access import AccessWorld
from tests.support.worlds.admin_world import World

SALT = b"salt of sixteen."
READ_T = (2, "t", 3, "User:x", "*", 3, 3)
WRITE_T = (2, "t", 3, "User:x", "*", 4, 3)
READ_PREFIX = (2, "t", 4, "User:y", "1.2.3.4", 3, 2)
EVERYTHING = (1, None, 1, None, None, 1, 1)

Row = tuple[int, str, int, str, str, int, int]


def create(world: AccessWorld, *rows: Row, version: int = 3) -> list[int]:
    request = CreateAclsRequest([AclCreation(*row) for row in rows])
    return [row.error_code for row in world.admin.call(request, version, CreateAclsResponse).results]


def described(world: AccessWorld, *wanted: object, version: int = 3) -> set[tuple[object, ...]]:
    answer = world.admin.call(DescribeAclsRequest(*(wanted or EVERYTHING)), version, DescribeAclsResponse)  # type: ignore[arg-type]
    assert answer.error_code == ErrorCode.NONE
    return {
        (
            each.resource_type,
            each.resource_name,
            each.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for each in answer.resources
        for acl in each.acls
    }


@pytest.mark.parametrize("version", [1, 2, 3])
def test_acls_are_created_described_and_deleted(version: int, world: AccessWorld) -> None:
    assert create(world, READ_T, WRITE_T, READ_PREFIX, READ_T, version=version) == [ErrorCode.NONE] * 4
    assert create(world, READ_T, version=version) == [ErrorCode.NONE], "one that is there already"
    assert described(world, version=version) == {READ_T, WRITE_T, READ_PREFIX}
    assert described(world, 2, "tea", 2, None, None, 1, 1, version=version) == {READ_PREFIX}
    both = [DeleteAclsFilter(2, "t", 3, None, None, 3, 1), DeleteAclsFilter(2, "t", 3, "User:x", None, 1, 3)]
    answer = world.admin.call(DeleteAclsRequest(both), version, DeleteAclsResponse)
    assert [len(row.matching_acls) for row in answer.filter_results] == [1, 2], "one is meant by both"
    assert described(world, version=version) == {READ_PREFIX}


def test_each_stands_alone(world: AccessWorld) -> None:
    wrong = [(4, "other", 3, "User:x", "*", 3, 3), (2, "", 3, "User:x", "*", 3, 3), (2, "t", 3, "x", "*", 3, 3)]
    assert create(world, wrong[0], READ_T, wrong[1], wrong[2]) == [42, 0, 42, 42]
    assert described(world) == {READ_T}
    filters = [DeleteAclsFilter(99, None, 1, None, None, 1, 1), DeleteAclsFilter(*EVERYTHING)]
    answer = world.admin.call(DeleteAclsRequest(filters), 3, DeleteAclsResponse)
    assert [row.error_code for row in answer.filter_results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    refused = world.admin.call(DescribeAclsRequest(99, None, 1, None, None, 1, 1), 3, DescribeAclsResponse)
    assert refused.error_code == ErrorCode.INVALID_REQUEST


def test_each_row_has_its_reason(world: AccessWorld) -> None:
    wrong = AclCreation(2, "", 3, "User:x", "*", 3, 3)
    created = world.admin.call(CreateAclsRequest([wrong, AclCreation(*READ_T)]), 3, CreateAclsResponse).results
    assert [bool(row.error_message) for row in created] == [True, False]
    meaningless = "The filter has a number that means nothing."
    filters = [DeleteAclsFilter(99, None, 1, None, None, 1, 1), DeleteAclsFilter(*EVERYTHING)]
    deleted = world.admin.call(DeleteAclsRequest(filters), 3, DeleteAclsResponse).filter_results
    assert [row.error_message for row in deleted] == [meaningless, None]
    assert deleted[1].matching_acls == [DeleteAclsMatchingAcl(ErrorCode.NONE, None, *READ_T)]
    described = world.admin.call(DescribeAclsRequest(99, None, 1, None, None, 1, 1), 3, DescribeAclsResponse)
    assert (described.error_code, described.error_message) == (ErrorCode.INVALID_REQUEST, meaningless)


@pytest.mark.parametrize("field", range(7))
def test_each_field_of_a_filter_counts(field: int) -> None:
    """A filter finds and deletes one of two ACLs that differ only in this field."""
    one: Row = (2, "t", 3, "User:x", "1.1.1.1", 3, 3)
    others: Row = (3, "u", 4, "User:y", "2.2.2.2", 4, 2)
    world = AccessWorld()
    two = cast(Row, (*one[:field], others[field], *one[field + 1 :]))
    assert create(world, one, two) == [ErrorCode.NONE] * 2
    wanted = (*EVERYTHING[:field], two[field], *EVERYTHING[field + 1 :])
    assert described(world, *wanted) == {two}
    request = DeleteAclsRequest([DeleteAclsFilter(*wanted)])  # type: ignore[arg-type]
    (row,) = world.admin.call(request, 3, DeleteAclsResponse).filter_results
    assert row.matching_acls == [DeleteAclsMatchingAcl(ErrorCode.NONE, None, *two)]
    assert described(world) == {one}


def test_without_an_authorizer_acls_are_disabled() -> None:
    """The texts are those of Apache Kafka's AclApis."""
    client = BrokerWorld().connect()
    text = "No Authorizer is configured."
    created = client.call(CreateAclsRequest([AclCreation(*READ_T)] * 2), 3, CreateAclsResponse)
    assert created.results == [AclCreationResult(ErrorCode.SECURITY_DISABLED, text)] * 2
    deleted = client.call(DeleteAclsRequest([DeleteAclsFilter(*EVERYTHING)]), 3, DeleteAclsResponse)
    assert deleted.filter_results == [DeleteAclsFilterResult(ErrorCode.SECURITY_DISABLED, text)]
    described = client.call(DescribeAclsRequest(*EVERYTHING), 3, DescribeAclsResponse)
    assert described.error_code == ErrorCode.SECURITY_DISABLED
    assert described.error_message == "No Authorizer is configured on the broker"


def test_what_cannot_be_stored_is_not_in_force(world: AccessWorld) -> None:
    create(world, READ_T)

    def full(_changes: object) -> None:
        raise OSError("No space left on device")

    world.db.before_commit = full
    assert create(world, WRITE_T) == [ErrorCode.KAFKA_STORAGE_ERROR]
    answer = world.admin.call(DeleteAclsRequest([DeleteAclsFilter(*EVERYTHING)]), 3, DeleteAclsResponse)
    assert answer.filter_results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    text = answer.filter_results[0].error_message
    assert text is not None
    assert "No space left on device" in text
    assert alter(world, upserts=[upsert("u")]) == {"u": ErrorCode.KAFKA_STORAGE_ERROR}
    assert reasons(world, upsert("u")) == {"u": text}
    (row,) = world.admin.call(CreateAclsRequest([AclCreation(*WRITE_T)]), 3, CreateAclsResponse).results
    assert row == AclCreationResult(ErrorCode.KAFKA_STORAGE_ERROR, text)
    world.db.before_commit = None
    assert described(world) == {READ_T}
    assert not world.services.metadata.credentials


def upsert(user: str, mechanism: int = 1, iterations: int = 4096, salt: bytes = SALT) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(user, mechanism, iterations, salt, b"p" * 32)


def alter(
    world: AccessWorld,
    upserts: list[ScramCredentialUpsertion] | None = None,
    deletions: list[ScramCredentialDeletion] | None = None,
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(deletions or [], upserts or [])
    answer = world.admin.call(request, 0, AlterUserScramCredentialsResponse)
    return {row.user: row.error_code for row in answer.results}


def reasons(world: AccessWorld, *upserts: ScramCredentialUpsertion) -> dict[str, str | None]:
    request = AlterUserScramCredentialsRequest([], list(upserts))
    answer = world.admin.call(request, 0, AlterUserScramCredentialsResponse)
    return {row.user: row.error_message for row in answer.results}


def users(world: AccessWorld, *names: str) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    asked = [UserName(name) for name in names] or None
    answer = world.admin.call(DescribeUserScramCredentialsRequest(asked), 0, DescribeUserScramCredentialsResponse)
    return {
        row.user: (row.error_code, [(info.mechanism, info.iterations) for info in row.credential_infos])
        for row in answer.results
    }


def test_credentials_are_set_described_and_removed(world: AccessWorld) -> None:
    assert alter(world, [upsert("a"), upsert("b", 2, 16384)]) == {"a": 0, "b": 0}
    assert alter(world, [upsert("a", 2, 8192)]) == {"a": 0}
    assert users(world) == {"a": (0, [(1, 4096), (2, 8192)]), "b": (0, [(2, 16384)])}
    assert users(world, "b", "nobody") == {
        "b": (0, [(2, 16384)]),
        "nobody": (ErrorCode.RESOURCE_NOT_FOUND, []),
    }
    assert users(world, "b", "b") == {"b": (ErrorCode.DUPLICATE_RESOURCE, [])}
    assert alter(world, deletions=[ScramCredentialDeletion("a", 1), ScramCredentialDeletion("c", 1)]) == {
        "a": 0,
        "c": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert users(world) == {"a": (0, [(2, 8192)]), "b": (0, [(2, 16384)])}
    stored = world.services.metadata.credentials[CredentialKey("b", "SCRAM-SHA-512")]
    assert stored == credential_from_salted("SCRAM-SHA-512", SALT, b"p" * 32, 16384)
    assert "hidden" in repr(stored)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (upsert(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsert("u", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsert("u", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsert("u", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsert("u", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            ScramCredentialUpsertion("u", 1, 4096, SALT, b""),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "The salted password is empty",
        ),
    ],
)
def test_a_credential_that_is_not_taken(
    change: ScramCredentialUpsertion, error: ErrorCode, text: str, world: AccessWorld
) -> None:
    """The texts are those of Apache Kafka's ScramControlManager, except for the last one."""
    assert alter(world, [change, upsert("other")]) == {change.name: error, "other": 0}
    assert reasons(world, change, upsert("other")) == {change.name: text, "other": None}


def test_what_cannot_be_described_is_explained(world: AccessWorld) -> None:
    """The texts are those of Apache Kafka's ScramImage."""
    alter(world, [upsert("a")])
    asked = [UserName("a"), UserName("b"), UserName("c"), UserName("c")]
    answer = world.admin.call(DescribeUserScramCredentialsRequest(asked), 0, DescribeUserScramCredentialsResponse)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert {row.user: row.error_message for row in answer.results} == {
        "a": None,
        "b": "Attempt to describe a user credential that does not exist: b",
        "c": "Cannot describe SCRAM credentials for the same user twice in a single request: c",
    }


def kept(world: AccessWorld) -> list[ShownScramCredential]:
    answer = world.admin.call(MoveUserScramCredentialsRequest(None), 0, MoveUserScramCredentialsResponse)
    assert answer.error_code == ErrorCode.NONE
    return list(answer.credentials)


def added(world: AccessWorld, *rows: MovedScramCredential) -> list[int]:
    request = MoveUserScramCredentialsRequest(list(rows))
    answer = world.admin.call(request, 0, MoveUserScramCredentialsResponse)
    return [row.error_code for row in answer.results]


def moved(row: ShownScramCredential, **changed: Any) -> MovedScramCredential:
    found = {name: getattr(row, name) for name in MovedScramCredential.FIELDS}
    return MovedScramCredential(**{**found, **changed})


def test_credentials_move_as_they_are_kept(world: AccessWorld) -> None:
    alter(world, [upsert("a"), upsert("b", 2, 16384)])
    before = dict(world.services.metadata.credentials)
    shown = kept(world)
    alter(world, deletions=[ScramCredentialDeletion("a", 1), ScramCredentialDeletion("b", 2)])
    assert added(world, *map(moved, shown)) == [0, 0]
    assert added(world, *map(moved, shown)) == [0, 0]
    assert world.services.metadata.credentials == before


def test_a_credential_that_is_moved_replaces_none(world: AccessWorld) -> None:
    alter(world, [upsert("a")])
    (row,) = kept(world)
    before = dict(world.services.metadata.credentials)
    assert (
        added(world, moved(row, iterations=8192), moved(row, stored_key=b"k" * 32))
        == [ErrorCode.DUPLICATE_RESOURCE] * 2
    )
    assert added(world, moved(row, user="b"), moved(row, user="b", salt=b"other")) == [
        0,
        ErrorCode.DUPLICATE_RESOURCE,
    ]
    assert before.items() < world.services.metadata.credentials.items()


def test_what_no_password_has_made_is_not_added(world: AccessWorld) -> None:
    alter(world, [upsert("a")])
    (row,) = kept(world)
    wrong = [
        moved(row, user=""),
        moved(row, user="b", iterations=4095),
        moved(row, user="b", iterations=16385),
        moved(row, user="b", stored_key=b"k" * 31),
        moved(row, user="b", server_key=b"k" * 64),
        moved(row, user="b", mechanism=2),
    ]
    assert added(world, *wrong) == [ErrorCode.UNACCEPTABLE_CREDENTIAL] * len(wrong)
    assert added(world, moved(row, user="b", mechanism=3)) == [ErrorCode.UNSUPPORTED_SASL_MECHANISM]
    assert users(world) == {"a": (0, [(1, 4096)])}


def test_a_broker_without_an_authorizer_shows_no_keys() -> None:
    """Without an authorizer every client has ALTER on the cluster."""
    answer = World().call(MoveUserScramCredentialsResponse, MoveUserScramCredentialsRequest(None), 0)
    assert answer.error_code == ErrorCode.SECURITY_DISABLED
    assert not answer.credentials


@pytest.mark.parametrize("salt", [b"", b"short"])
def test_a_short_salt_is_taken(salt: bytes, world: AccessWorld) -> None:
    assert alter(world, [upsert("u", salt=salt)]) == {"u": 0}
    assert world.services.metadata.credentials[CredentialKey("u", "SCRAM-SHA-256")].salt == salt


def test_a_user_named_twice_is_left_alone(world: AccessWorld) -> None:
    assert alter(world, [upsert("u"), upsert("u", 2)]) == {"u": ErrorCode.DUPLICATE_RESOURCE}
    assert alter(world, [upsert("u")]) == {"u": 0}
    twice = alter(world, [upsert("u", 1, 8192)], [ScramCredentialDeletion("u", 1)])
    assert twice == {"u": ErrorCode.DUPLICATE_RESOURCE}
    assert users(world) == {"u": (0, [(1, 4096)])}


def test_both_databases_keep_the_same(tmp_path: Path, world: AccessWorld) -> None:
    create(world, READ_T, WRITE_T, READ_PREFIX)
    alter(world, [upsert("a"), upsert("b", 2)])
    kept = MemoryMetaDb.load(world.db)
    sqlite = SqliteMetaDb(f"{tmp_path}/meta.db")
    sqlite.commit([PutAcl(acl) for acl in kept.acls])
    sqlite.commit([PutScram(key, credential) for key, credential in kept.scram.items()])
    assert list(sqlite.load().acls) == list(kept.acls)
    assert sqlite.load().scram == kept.scram
    first = next(iter(kept.acls))
    sqlite.commit([PutAcl(first), DropAcl(first), PutScram(CredentialKey("a", "SCRAM-SHA-256"), None)])
    sqlite.close()
    again = SqliteMetaDb(f"{tmp_path}/meta.db").load()
    assert list(again.acls) == list(kept.acls)[1:]
    assert set(again.scram) == {CredentialKey("b", "SCRAM-SHA-512")}
