"""Names that brokers and clients share: internal topics, properties, headers of dead letters and of redriven
records.
"""

from __future__ import annotations

from typing import Final

CONSUMER_OFFSETS: Final = "__consumer_offsets"
SHARE_GROUP_STATE: Final = "__share_group_state"
TRANSACTION_STATE: Final = "__transaction_state"
CLUSTER_METADATA: Final = "__cluster_metadata"
"""Apache Kafka's own metadata log. No client can create a topic of this name."""

REDRIVES: Final = "shareq.redrive."
"""The prefix of the groups whose offsets are the progress of redrives."""

# Properties of share groups (KIP-932, KIP-1240, KIP-1191) that more than one package names.
AUTO_OFFSET_RESET: Final = "share.auto.offset.reset"
DELIVERY_COUNT_LIMIT: Final = "share.delivery.count.limit"
HEARTBEAT_INTERVAL_MS: Final = "share.heartbeat.interval.ms"
ISOLATION_LEVEL: Final = "share.isolation.level"
PARTITION_MAX_RECORD_LOCKS: Final = "share.partition.max.record.locks"
RECORD_LOCK_DURATION_MS: Final = "share.record.lock.duration.ms"
SESSION_TIMEOUT_MS: Final = "share.session.timeout.ms"
PAUSED: Final = "shareq.paused"  # our own, as the next six
BREAKER_LETTERS: Final = "shareq.breaker.letters"
BREAKER_WINDOW_MS: Final = "shareq.breaker.window.ms"
DELAY_ENABLE: Final = "shareq.delay.enable"
DELAY_MAX_MS: Final = "shareq.delay.max.ms"
TTL_MS: Final = "shareq.ttl.ms"
NOT_AFTER_ENABLE: Final = "shareq.not.after.enable"
NOT_PAUSED: Final = "false"
PAUSED_BY_BREAKER: Final = "breaker"
"""The value of `shareq.paused` that the breaker sets; the other values are NOT_PAUSED and `true`."""
DLQ_TOPIC_NAME: Final = "errors.deadletterqueue.topic.name"
DLQ_COPY_RECORD: Final = "errors.deadletterqueue.copy.record.enable"

# Properties of a topic and of a broker about dead-letter queues (KIP-1191).
DLQ_GROUP_ENABLE: Final = "errors.deadletterqueue.group.enable"
DLQ_TOPIC_NAME_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
DLQ_TOPICS: Final = "shareq.dlq.topics"
DLQ_AUTO_CREATE_TOPICS: Final = "errors.deadletterqueue.auto.create.topics.enable"

NOT_BEFORE: Final = "shareq.not.before.ms"
"""The header with the time before which work on the record must not begin, in ms since the epoch, as decimal digits."""
NOT_AFTER: Final = "shareq.not.after.ms"
"""The header with the time after which no consumer is handed the record, in ms since the epoch, as decimal digits."""
LONGEST_TIME: Final = 15
"""The most digits of a time in ms, enough up to the year 33658."""

# Headers of a dead letter (KIP-1191; the last three after the draft KIP-1317, SHAREQ_ERROR our own).
DLQ_PREFIX: Final = "__dlq."
DLQ_ERRORS: Final = "__dlq.errors."
DLQ_TOPIC: Final = "__dlq.errors.topic"
DLQ_PARTITION: Final = "__dlq.errors.partition"
DLQ_OFFSET: Final = "__dlq.errors.offset"
DLQ_GROUP: Final = "__dlq.errors.group"
DLQ_DELIVERY_COUNT: Final = "__dlq.errors.delivery.count"
DLQ_MESSAGE: Final = "__dlq.errors.message"
DLQ_SHAREQ_ERROR: Final = "__dlq.errors.shareq.error"
DLQ_DISPOSITION: Final = "__dlq.errors.disposition"
DLQ_REJECTED_BY: Final = "__dlq.errors.rejected.by"
DLQ_TIMESTAMP: Final = "__dlq.errors.timestamp"

# Headers of a record that a redrive sent back.
REDRIVE_PREFIX: Final = "__redrive."
REDRIVE_NAME: Final = "__redrive.name"
REDRIVE_TIMESTAMP: Final = "__redrive.timestamp"
REDRIVE_COUNT: Final = "__redrive.count"
REDRIVE_QUEUE_TOPIC: Final = "__redrive.queue.topic"
REDRIVE_QUEUE_PARTITION: Final = "__redrive.queue.partition"
REDRIVE_QUEUE_OFFSET: Final = "__redrive.queue.offset"
REDRIVE_GROUP: Final = "__redrive.group"
REDRIVE_TO: Final = "__redrive.to"
REDRIVE_SOURCE_TOPIC: Final = "__redrive.source.topic"
REDRIVE_SOURCE_PARTITION: Final = "__redrive.source.partition"
REDRIVE_SOURCE_OFFSET: Final = "__redrive.source.offset"
