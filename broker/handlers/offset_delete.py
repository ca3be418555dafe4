"""OffsetDelete: v0.

Behaviour: forgets offsets of single partitions. A topic that members of the group read is GROUP_SUBSCRIBED_TO_TOPIC; if
the broker cannot tell what they read, the whole group is NON_EMPTY_GROUP.
"""

from __future__ import annotations

from shareq.broker.context import RequestContext
from shareq.broker.handlers import VersionRange
from shareq.broker.pending import Pending
from shareq.protocol.generated.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

VERSIONS = VersionRange(0, 0)


def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> Pending[OffsetDeleteResponse]:
    return ctx.broker.group_offsets.delete(request)
