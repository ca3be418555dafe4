"""A thousand share-group members that only send heartbeats."""

from __future__ import annotations

import time
import uuid

from bench.client.meter import Meter
from bench.client.wire import Wire
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

ROUNDS_TO_SETTLE = 3  # joining, being assigned, confirming the assignment
ASSIGNMENT_INTERVAL_S = 1.1  # both brokers assign at most once a second


class _Member:
    """A member with its own heartbeats; the broker sets the epoch."""

    def __init__(self, wire: Wire, group: str, topic: str) -> None:
        self._wire = wire
        self._request = ShareGroupHeartbeatRequest(group, str(uuid.uuid4()), 0, None, [topic])

    def heartbeat(self) -> int:
        """Send a heartbeat, and return the broker's interval in ms."""
        answer = self._wire.call(self._request, 1, ShareGroupHeartbeatResponse)
        assert answer.error_code == 0, f"heartbeat answered error {answer.error_code}: {answer.error_message}"
        self._request.member_epoch = answer.member_epoch
        self._request.subscribed_topic_names = None  # unchanged
        return answer.heartbeat_interval_ms


def run(address: str, broker_pid: int, topic: str, groups: list[str], members: int, seconds: float) -> dict[str, float]:
    """Measure `share_of_core`, the broker's CPU while all members send heartbeats at its interval, evenly spread."""
    wire = Wire(address)
    everyone = [_Member(wire, groups[number % len(groups)], topic) for number in range(members)]
    for _ in range(ROUNDS_TO_SETTLE):
        interval_s = max(member.heartbeat() for member in everyone) / 1000
        time.sleep(ASSIGNMENT_INTERVAL_S)
    started = time.perf_counter()
    meter = Meter.start(broker_pid)
    beats = int(members * seconds / interval_s)
    for number in range(beats):
        due = started + number * interval_s / members
        time.sleep(max(0.0, due - time.perf_counter()))
        everyone[number % members].heartbeat()
    sample = meter.stop(beats)
    return {"share_of_core": sample["cpu_us"] * beats / 1e6 / sample["elapsed_s"], "beats": float(beats)}
