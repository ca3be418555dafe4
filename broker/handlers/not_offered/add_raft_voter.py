"""AddRaftVoter: v0-1 (KIP-853).

Behaviour: as where Apache Kafka's feature kraft.version is 0: the quorum, which is this broker, cannot change:
UNSUPPORTED_VERSION. ALTER on the cluster is needed.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse

_FIXED = "Cluster doesn't support adding voter because the kraft.version feature is 0"


def handle(ctx: RequestContext, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    if not ctx.may(ALTER_CLUSTER):
        return AddRaftVoterResponse(error_code=ALTER_CLUSTER.error, error_message=text_of(ALTER_CLUSTER.error))
    if request.cluster_id not in (None, ctx.services.metadata.cluster_id):
        error = ErrorCode.INCONSISTENT_CLUSTER_ID
        return AddRaftVoterResponse(error_code=error, error_message=text_of(error))
    return AddRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=_FIXED)
