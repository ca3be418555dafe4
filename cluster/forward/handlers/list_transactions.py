"""ListTransactions, forwarded to all brokers: v0-2, cut to the cluster's.

Behaviour: as the cluster's. Each node lists a part of the transactional ids.
"""

from __future__ import annotations

from shareq.broker.security.rights import DESCRIBE_TRANSACTION
from shareq.cluster.forward.forwarding import OWN_TRANSACTIONS, ForwardContext
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.list_transactions import ListTransactionsRequest, ListTransactionsResponse

CONTEXT = ForwardContext


async def handle(ctx: ForwardContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    """List the transactions of all brokers, except those that another node lists."""
    response = ListTransactionsResponse()
    unknown: dict[str, None] = {}
    for answer in await ctx.ask_all(request, ListTransactionsResponse):
        if isinstance(answer, ErrorCode):
            response.error_code = response.error_code or answer
            continue
        response.error_code = response.error_code or error_of(answer.error_code)
        unknown.update(dict.fromkeys(answer.unknown_state_filters))
        for row in answer.transaction_states:
            name = row.transactional_id
            is_own = name.startswith(OWN_TRANSACTIONS)
            if not is_own and ctx.lists(name) and ctx.sees(DESCRIBE_TRANSACTION, name):
                response.transaction_states.append(row)
            await ctx.breathe()
    response.unknown_state_filters = list(unknown)
    return response
