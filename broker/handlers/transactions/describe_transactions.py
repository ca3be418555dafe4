"""DescribeTransactions: v0 (KIP-664).

Behaviour: each transactional id has its own error; topics that the client may not describe are left out.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import each_in_turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.security.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTION
from shareq.coordinator.transaction.describe import transaction_error_entry
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

TURN_IDS: Final = 250
"""So many are described in one turn, 12 µs each."""


def handle(ctx: RequestContext, request: DescribeTransactionsRequest) -> Pending[DescribeTransactionsResponse]:
    rows = each_in_turns(ctx, request.transactional_ids, lambda each: _describe(ctx, each), TURN_IDS)
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
