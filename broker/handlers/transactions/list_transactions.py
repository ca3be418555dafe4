"""ListTransactions: v0-2 (KIP-664, KIP-994, KIP-1152).

Behaviour: returns every transactional id of this broker that matches all filters. Unknown states in a filter match
nothing, and are listed in the answer. v1: a filter for transactions that have lasted longer than the given
milliseconds. v2: a pattern (RE2) for the whole transactional id; INVALID_REGULAR_EXPRESSION for an invalid one.
"""

from __future__ import annotations

from collections.abc import Callable

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.security.rights import DESCRIBE_TRANSACTION
from shareq.coordinator.transaction.describe import TransactionFilter, unknown_states
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

CONTEXT = FolderContext


async def handle(ctx: FolderContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    matches = _matcher(request.transactional_id_pattern)
    if isinstance(matches, ErrorCode):
        return ListTransactionsResponse(error_code=matches)
    wanted = TransactionFilter(
        frozenset(request.producer_id_filters), frozenset(request.state_filters), request.duration_filter, matches
    )
    response = ListTransactionsResponse(unknown_state_filters=unknown_states(request.state_filters))
    for row in await ctx.ground.transactions.coordinator.list_transactions(wanted):
        if ctx.sees(DESCRIBE_TRANSACTION, row.transactional_id):
            response.transaction_states.append(row)
        await ctx.breathe()
    return response


def _matcher(pattern: str | None) -> Callable[[str], bool] | ErrorCode | None:
    if not pattern:
        return None
    try:
        import re2  # only a filter by pattern needs it
    except ImportError:  # an extra; Python's own `re` may take for ever
        return ErrorCode.INVALID_REGULAR_EXPRESSION

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return ErrorCode.INVALID_REGULAR_EXPRESSION
    return lambda text: compiled.fullmatch(text) is not None
