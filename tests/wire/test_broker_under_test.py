from __future__ import annotations

import os
import signal

import pytest

from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.fixtures import must_live


def test_a_broker_that_died_fails_the_next_test_at_once_and_one_that_was_ended_does_not() -> None:
    broker = BrokerUnderTest("ours")
    try:
        broker.start()
        must_live(broker)
        broker.kill()
        must_live(broker)
        broker.start()
        process = broker._process.process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with pytest.raises(pytest.fail.Exception, match=r"the broker has died \(-9\)"):
            must_live(broker)
    finally:
        broker.remove()
