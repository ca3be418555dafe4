from __future__ import annotations

import pickle

from shareq.client.errors import BrokerError
from shareq.protocol.errors import ErrorCode


def test_a_brokers_message_is_one_line_whatever_the_broker_sends() -> None:
    error = BrokerError(ErrorCode.INVALID_RECORD, "partition t-0", "two\r\n\tlines ")
    assert str(error) == "partition t-0: INVALID_RECORD: two lines"
    assert error.message == "two\r\n\tlines "
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
