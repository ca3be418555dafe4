"""RemoveRaftVoter: v0 (KIP-853).

Behaviour: as where Apache Kafka's feature kraft.version is 0: the quorum, which is this broker, cannot change:
UNSUPPORTED_VERSION. ALTER on the cluster is needed.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

_FIXED = "Cluster doesn't support removing voter because the kraft.version feature is 0"


def handle(ctx: RequestContext, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    if not ctx.may(ALTER_CLUSTER):
        return RemoveRaftVoterResponse(error_code=ALTER_CLUSTER.error, error_message=text_of(ALTER_CLUSTER.error))
    if request.cluster_id not in (None, ctx.services.metadata.cluster_id):
        error = ErrorCode.INCONSISTENT_CLUSTER_ID
        return RemoveRaftVoterResponse(error_code=error, error_message=text_of(error))
    return RemoveRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=_FIXED)
