"""DescribeTransactions: v0 (KIP-664).

Behaviour: each transactional id has its own error; topics that the client may not describe are left out.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.pending import Pending, completed, gather
from shareq.broker.security.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTION
from shareq.coordinator.transaction.describe import transaction_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


def handle(ctx: RequestContext, request: DescribeTransactionsRequest) -> Pending[DescribeTransactionsResponse]:
    rows = gather([_describe(ctx, transactional_id) for transactional_id in request.transactional_ids])
    return rows.then(lambda states: DescribeTransactionsResponse(transaction_states=states))


def failed(request: DescribeTransactionsRequest, error: ErrorCode) -> DescribeTransactionsResponse:
    """The same for every id."""
    return DescribeTransactionsResponse(
        transaction_states=[
            transaction_error_entry(transactional_id, error) for transactional_id in request.transactional_ids
        ]
    )


def _describe(ctx: RequestContext, transactional_id: str) -> Pending[TransactionState]:
    if not ctx.may(DESCRIBE_TRANSACTION, transactional_id):
        return completed(transaction_error_entry(transactional_id, DESCRIBE_TRANSACTION.error))

    def visible(state: TransactionState) -> TransactionState:
        state.topics = [topic for topic in state.topics if ctx.sees(DESCRIBE_TOPIC, topic.topic)]
        return state

    return ctx.services.transactions.coordinator.describe(transactional_id).then(visible)
