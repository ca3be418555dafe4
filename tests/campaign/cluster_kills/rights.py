"""The nodes' right to describe a topic, revoked for their addresses and granted again."""

from __future__ import annotations

from typing import Final

from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from tests.campaign.cluster_kills.brokers import NODES_FROM

_ANYBODY: Final = "User:*"
_TOPIC, _LITERAL = 2, 3
_ANY, _ALL, _DESCRIBE = 1, 2, 8
_DENY, _ALLOW = 2, 3


def take_away(port: int, topic: str) -> None:
    """Deny Describe to the nodes' address; everything else stays allowed."""
    rules = [
        AclCreation(_TOPIC, topic, _LITERAL, _ANYBODY, "*", _ALL, _ALLOW),
        AclCreation(_TOPIC, topic, _LITERAL, _ANYBODY, NODES_FROM, _DESCRIBE, _DENY),
    ]
    with WireClient(("127.0.0.1", port), timeout_s=30) as client:
        answer = client.call(CreateAclsRequest(rules), 3, CreateAclsResponse)
    if any(each.error_code != ErrorCode.NONE for each in answer.results):
        raise RuntimeError(f"the right was not taken: {answer}")


def give_back(port: int, topic: str) -> None:
    """Remove both ACLs; RuntimeError if there were none, so that nothing was denied."""
    both = DeleteAclsFilter(_TOPIC, topic, _LITERAL, None, None, _ANY, _ANY)
    with WireClient(("127.0.0.1", port), timeout_s=30) as client:
        answer = client.call(DeleteAclsRequest([both]), 3, DeleteAclsResponse)
    found = answer.filter_results[0].matching_acls
    if len(found) != 2:
        raise RuntimeError(f"{len(found)} rules were removed where two were made")
