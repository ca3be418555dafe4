"""DescribeTransactions: v0 (KIP-664).

Behaviour: returns the state and the partitions of each transactional id, with its own error. Topics that the client may
not describe are left out.
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.security.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTION
from shareq.coordinator.transaction.describe import transaction_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

CONTEXT = FolderContext


async def handle(ctx: FolderContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    asked: list[Pending[TransactionState]] = []
    for transactional_id in request.transactional_ids:
        asked.append(_describe(ctx, transactional_id))
        await ctx.breathe(LOOK)  # a transaction may have many partitions
    response = DescribeTransactionsResponse()
    for each in asked:
        state = await each
        await ctx.breathe(1 + len(state.topics))
        state.topics = [topic for topic in state.topics if ctx.sees(DESCRIBE_TOPIC, topic.topic)]
        response.transaction_states.append(state)
    return response


def failed(request: DescribeTransactionsRequest, error: ErrorCode) -> DescribeTransactionsResponse:
    """Return the answer with the same error for every transactional id."""
    return DescribeTransactionsResponse(
        transaction_states=[
            transaction_error_entry(transactional_id, error) for transactional_id in request.transactional_ids
        ]
    )


def _describe(ctx: FolderContext, transactional_id: str) -> Pending[TransactionState]:
    if not ctx.may(DESCRIBE_TRANSACTION, transactional_id):
        return completed(transaction_error_entry(transactional_id, DESCRIBE_TRANSACTION.error))
    return ctx.ground.transactions.coordinator.describe(transactional_id)
