"""Workers on share groups: functions that are called with each record of a topic, and retried when they fail.

See docs/worker.md.
"""

from shareq.worker.app import Worker
from shareq.worker.job import Later, Message, Reject, Retry
from shareq.worker.sender import Sender

__all__ = ["Later", "Message", "Reject", "Retry", "Sender", "Worker"]
