"""The broker's properties: Apache Kafka 4.3.1's names, defaults and bounds, for everything this broker acts on.

Where a default differs from Kafka's, the row says so: one broker cannot hold three replicas, and it listens on the
loopback interface only unless configured otherwise.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.config.keys.oauth import OAUTH_KEYS
from shareq.broker.config.keys.records_api import RECORDS_API_KEYS
from shareq.broker.config.keys.share import SHARE_KEYS
from shareq.broker.config.keys.tls import TLS_KEYS
from shareq.protocol.config_def import INT_MAX as INT_TOP
from shareq.protocol.config_def import LONG_MAX as LONG_TOP
from shareq.protocol.config_def import (
    ConfigDef,
    ConfigKey,
    LevelOrDefault,
    NonEmptyList,
    OneOf,
    Range,
    UpdateMode,
)
from shareq.protocol.config_def import ConfigType as Type

_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_GIB: Final = 1024**3
_DOUBLE_TOP: Final = 1.7976931348623157e308  # Java's Double.MAX_VALUE

COMPRESSION_TYPES: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES: Final = ("CreateTime", "LogAppendTime")
GZIP_LEVELS: Final = LevelOrDefault(1, 9, -1)
LZ4_LEVELS: Final = LevelOrDefault(1, 17, 9)
ZSTD_LEVELS: Final = LevelOrDefault(-131_072, 22, 3)
LARGEST_RECORD_BYTES: Final = 2**31 - 9
"""What Java can have in one array: no record is larger."""

_REMOTE: Final = "Of remote storage, which there is none of: accepted, without effect."
_POSITIVE: Final = Range(1)
_NON_NEGATIVE: Final = Range(0)

_SERVER_KEYS: Final = (
    ConfigKey("node.id", Type.INT, 1, _NON_NEGATIVE, "This broker's number.", aliases=("broker.id",)),
    ConfigKey("broker.rack", Type.STRING, None, None, "The rack this broker reports to clients."),
    ConfigKey(
        "listeners",
        Type.LIST,
        ("PLAINTEXT://127.0.0.1:9092",),
        NonEmptyList(),
        "Addresses to listen on, as NAME://HOST:PORT. An empty host means every interface, port 0 any free port.",
    ),
    ConfigKey(
        "advertised.listeners",
        Type.LIST,
        None,
        NonEmptyList(),
        "Addresses that clients are to connect to, by listener name; the listener's own address if not given.",
    ),
    ConfigKey(
        "listener.security.protocol.map",
        Type.STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        None,
        "The security protocol of each listener name, as NAME:PROTOCOL, with commas between several.",
    ),
    ConfigKey(
        "controller.listener.names",
        Type.LIST,
        (),
        None,
        "Names in `listeners` that are for controllers. There is no separate controller, so they are not opened.",
    ),
    ConfigKey(
        "sasl.enabled.mechanisms",
        Type.LIST,
        ("GSSAPI",),
        None,
        "How clients of listeners with SASL may authenticate: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. The "
        "default is Apache Kafka's, and not served.",
    ),
    ConfigKey(
        "sasl.server.max.receive.size", Type.INT, 524_288, None, "The largest request before authentication, in bytes."
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        Type.INT,
        100,
        Range(0),
        "How long the answer to a failed authentication, and the end of its connection, is held back.",
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        Type.LONG,
        0,
        None,
        "How long a client may go on until it authenticates again; 0: for ever.",
    ),
    ConfigKey(
        "authorizer.class.name",
        Type.STRING,
        "",
        OneOf("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        "Apache Kafka's StandardAuthorizer restricts access by ACLs; without one every client may do everything.",
    ),
    # Apache Kafka does not list these two either: they belong to the authorizer.
    ConfigKey("super.users", Type.STRING, "", None, "Principals who may do everything, TYPE:NAME.", internal=True),
    ConfigKey(
        "allow.everyone.if.no.acl.found",
        Type.BOOLEAN,
        False,
        None,
        "Whether every client may do everything to a resource that no ACL is about.",
        internal=True,
    ),
    ConfigKey("log.dirs", Type.LIST, None, NonEmptyList(), "The data folder; exactly one. Wins over `log.dir`."),
    ConfigKey(
        "log.dir",
        Type.STRING,  # a comma is a part of the folder's name
        "./shareq-data",
        None,
        "The data folder, if `log.dirs` is not given.",
        described_as=Type.LIST,
    ),
    ConfigKey("socket.request.max.bytes", Type.INT, 104_857_600, _POSITIVE, "The largest request accepted, in bytes."),
    # Apache Kafka's default is -1, no limit. Here it is safe without being set: two requests of the largest size, and
    # more than a hundred of the megabyte that producers send at most by default; as much as answers have.
    ConfigKey(
        "queued.max.request.bytes",
        Type.LONG,
        268_435_456,
        None,
        "The most bytes of requests that all connections together have sent and that are not handled; a connection "
        "that would have more is not read until there is room. At least socket.request.max.bytes; 0 or less: no limit.",
    ),
    ConfigKey("socket.send.buffer.bytes", Type.INT, 102_400, Range(-1), "SO_SNDBUF of connections; -1: the system's."),
    ConfigKey(
        "socket.receive.buffer.bytes", Type.INT, 102_400, Range(-1), "SO_RCVBUF of connections; -1: the system's."
    ),
    ConfigKey("socket.listen.backlog.size", Type.INT, 50, _POSITIVE, "Connections the system may hold unaccepted."),
    ConfigKey(
        "max.connections", Type.INT, INT_TOP, _NON_NEGATIVE, "The most connections open at a time.", mode=_DYNAMIC
    ),
    ConfigKey(
        "max.connections.per.ip",
        Type.INT,
        INT_TOP,
        _NON_NEGATIVE,
        "The most connections open from one address; 0 only together with overrides.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        Type.STRING,
        "",
        None,
        "Limits for single addresses, as ADDRESS:LIMIT with commas between them.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "max.connection.creation.rate",
        Type.INT,
        INT_TOP,
        _NON_NEGATIVE,
        "The most new connections in a second; those that come faster wait.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "connections.max.idle.ms",
        Type.LONG,
        600_000,
        None,
        "A connection silent for so long is closed; negative: never.",
    ),
    ConfigKey("quota.window.num", Type.INT, 11, _POSITIVE, "Windows of the rates that client quotas are about."),
    ConfigKey("quota.window.size.seconds", Type.INT, 1, _POSITIVE, "Length of each of these windows."),
    ConfigKey("controller.quota.window.num", Type.INT, 11, _POSITIVE, "The same for `controller_mutation_rate`."),
    ConfigKey("controller.quota.window.size.seconds", Type.INT, 1, _POSITIVE, "Length of each of these windows."),
    ConfigKey("fetch.max.bytes", Type.INT, 57_671_680, Range(1024), "The most record bytes one Fetch answer carries."),
    ConfigKey(
        "max.incremental.fetch.session.cache.slots", Type.INT, 1000, _NON_NEGATIVE, "The most fetch sessions kept."
    ),
    ConfigKey(
        "max.request.partition.size.limit",
        Type.INT,
        2000,
        _POSITIVE,
        "The most partitions that one DescribeTopicPartitions answer carries.",
    ),
)

_TOPIC_KEYS: Final = (
    ConfigKey("num.partitions", Type.INT, 1, _POSITIVE, "Partitions of a topic created without a number of its own."),
    ConfigKey("default.replication.factor", Type.INT, 1, _POSITIVE, "Replicas of a topic created without a number."),
    ConfigKey("auto.create.topics.enable", Type.BOOLEAN, True, None, "Whether asking for a topic may create it."),
    ConfigKey("delete.topic.enable", Type.BOOLEAN, True, None, "Whether topics may be deleted."),
    ConfigKey(
        "min.insync.replicas",
        Type.INT,
        1,
        _POSITIVE,
        "Replicas that acks=all waits for, at most as many as there are.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        Type.BOOLEAN,
        False,
        None,
        "Kept for tools; there is one replica.",
        mode=_DYNAMIC,
    ),
    ConfigKey("message.max.bytes", Type.INT, 1_048_588, _NON_NEGATIVE, "The largest record batch.", mode=_DYNAMIC),
    ConfigKey(
        "max.decompressed.message.bytes",
        Type.INT,
        LARGEST_RECORD_BYTES,
        Range(1, LARGEST_RECORD_BYTES),
        "The largest record of a compressed batch, when it is opened.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "compression.type",
        Type.STRING,
        "producer",
        OneOf(*COMPRESSION_TYPES),
        "How batches are stored; `producer` leaves them as they come.",
        mode=_DYNAMIC,
    ),
    ConfigKey("compression.gzip.level", Type.INT, -1, GZIP_LEVELS, "Level for `gzip`.", mode=_DYNAMIC),
    ConfigKey("compression.lz4.level", Type.INT, 9, LZ4_LEVELS, "Level for `lz4`.", mode=_DYNAMIC),
    ConfigKey("compression.zstd.level", Type.INT, 3, ZSTD_LEVELS, "Level for `zstd`.", mode=_DYNAMIC),
)

_LOG_KEYS: Final = (
    ConfigKey(
        "log.segment.bytes", Type.INT, 1_073_741_824, Range(1_048_576), "Size at which a segment rolls.", mode=_DYNAMIC
    ),
    ConfigKey("log.roll.ms", Type.LONG, None, _POSITIVE, "Age at which a segment rolls.", mode=_DYNAMIC),
    ConfigKey(
        "log.roll.hours", Type.INT, 168, _POSITIVE, "Age at which a segment rolls, if `log.roll.ms` is not given."
    ),
    ConfigKey("log.roll.jitter.ms", Type.LONG, None, _NON_NEGATIVE, "Random spread of rolling.", mode=_DYNAMIC),
    ConfigKey(
        "log.roll.jitter.hours", Type.INT, 0, _NON_NEGATIVE, "Random spread, if the property in ms is not given."
    ),
    ConfigKey("log.retention.ms", Type.LONG, None, None, "How long records are kept; -1: for ever.", mode=_DYNAMIC),
    ConfigKey("log.retention.minutes", Type.INT, None, None, "How long records are kept, if not given in ms."),
    ConfigKey("log.retention.hours", Type.INT, 168, None, "How long records are kept, if given in no other unit."),
    ConfigKey("log.retention.bytes", Type.LONG, -1, None, "Size a partition may reach; -1: no limit.", mode=_DYNAMIC),
    ConfigKey("log.retention.check.interval.ms", Type.LONG, 300_000, _POSITIVE, "How often retention is applied."),
    ConfigKey(
        "log.cleanup.policy",
        Type.LIST,
        ("delete",),
        OneOf("compact", "delete"),
        "What happens to old segments: `delete` by age and size, `compact` by key, or both.",
        mode=_DYNAMIC,
    ),
    ConfigKey("log.index.size.max.bytes", Type.INT, 10_485_760, Range(4), "The largest index file.", mode=_DYNAMIC),
    ConfigKey("log.index.interval.bytes", Type.INT, 4096, _NON_NEGATIVE, "Bytes between index entries.", mode=_DYNAMIC),
    ConfigKey(
        "log.flush.interval.messages",
        Type.LONG,
        LONG_TOP,
        _POSITIVE,
        "1 makes every answered write survive power loss; any other value leaves syncing to the system.",
        mode=_DYNAMIC,
    ),
    ConfigKey("log.flush.interval.ms", Type.LONG, None, None, "Longest time before records are synced.", mode=_DYNAMIC),
    ConfigKey("log.flush.scheduler.interval.ms", Type.LONG, LONG_TOP, None, "As above, if that is not given."),
    ConfigKey("log.segment.delete.delay.ms", Type.LONG, 60_000, _NON_NEGATIVE, "Delay of file removal.", mode=_DYNAMIC),
    ConfigKey(
        "log.preallocate", Type.BOOLEAN, False, None, "Whether segment files take their size at once.", mode=_DYNAMIC
    ),
    ConfigKey(
        "log.message.timestamp.type",
        Type.STRING,
        "CreateTime",
        OneOf(*TIMESTAMP_TYPES),
        "Whether records keep the producer's time or get the broker's.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.message.timestamp.before.max.ms",
        Type.LONG,
        LONG_TOP,
        _NON_NEGATIVE,
        "How far a producer's time may lie in the past.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.message.timestamp.after.max.ms",
        Type.LONG,
        _HOUR_MS,
        _NON_NEGATIVE,
        "How far a producer's time may lie in the future.",
        mode=_DYNAMIC,
    ),
    ConfigKey("log.remote.copy.lag.ms", Type.LONG, 0, Range(-1), _REMOTE, mode=_DYNAMIC),
    ConfigKey("log.remote.copy.lag.bytes", Type.LONG, -1, Range(-1), _REMOTE, mode=_DYNAMIC),
    ConfigKey("log.cleaner.enable", Type.BOOLEAN, True, None, "Whether compacted topics are cleaned."),
    ConfigKey(
        "log.cleaner.threads",
        Type.INT,
        1,
        _NON_NEGATIVE,
        "Accepted for compatibility; one log is cleaned at a time, in the pauses of the one thread.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.cleaner.backoff.ms", Type.LONG, 15_000, _NON_NEGATIVE, "Pause when nothing is dirty.", mode=_DYNAMIC
    ),
    ConfigKey(
        "log.cleaner.io.max.bytes.per.second",
        Type.DOUBLE,
        _DOUBLE_TOP,
        None,
        "How much the cleaner reads and writes in a second at most, on average.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size",
        Type.LONG,
        134_217_728,
        None,
        "Memory for the keys of one pass; a log with more takes several. Taken only while it is needed.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.size",
        Type.INT,
        524_288,
        _NON_NEGATIVE,
        "Accepted for compatibility; the cleaner reads and writes in small steps.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.load.factor",
        Type.DOUBLE,
        0.9,
        None,
        "The share of the memory for keys that is used.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "log.cleaner.min.cleanable.ratio", Type.DOUBLE, 0.5, Range(0, 1), "Dirty share worth cleaning.", mode=_DYNAMIC
    ),
    ConfigKey(
        "log.cleaner.delete.retention.ms", Type.LONG, _DAY_MS, _NON_NEGATIVE, "Life of tombstones.", mode=_DYNAMIC
    ),
    ConfigKey(
        "log.cleaner.min.compaction.lag.ms", Type.LONG, 0, _NON_NEGATIVE, "Age before compaction.", mode=_DYNAMIC
    ),
    ConfigKey(
        "log.cleaner.max.compaction.lag.ms",
        Type.LONG,
        LONG_TOP,
        _POSITIVE,
        "Age that forces compaction.",
        mode=_DYNAMIC,
    ),
)

_OFFSETS_KEYS: Final = (
    ConfigKey("offsets.topic.num.partitions", Type.INT, 50, _POSITIVE, "Partitions of `__consumer_offsets`."),
    # Kafka's default is 3.
    ConfigKey("offsets.topic.replication.factor", Type.SHORT, 1, _POSITIVE, "Replicas of `__consumer_offsets`."),
    ConfigKey("offsets.topic.segment.bytes", Type.INT, 104_857_600, _POSITIVE, "Segment size of `__consumer_offsets`."),
    ConfigKey("offsets.topic.compression.codec", Type.INT, 0, Range(0, 4), "Codec of coordinator batches; 0: none."),
    ConfigKey("offsets.retention.minutes", Type.INT, 10_080, _POSITIVE, "Life of an empty group's offsets."),
    ConfigKey("offsets.retention.check.interval.ms", Type.LONG, 600_000, _POSITIVE, "How often offsets are expired."),
    ConfigKey("offset.metadata.max.bytes", Type.INT, 4096, None, "The longest metadata of a committed offset."),
    ConfigKey("offsets.commit.timeout.ms", Type.INT, 5000, _POSITIVE, "Time a coordinator's write may take."),
)

_GROUP_KEYS: Final = (
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        Type.LIST,
        ("classic", "consumer", "streams"),
        OneOf("classic", "consumer", "share", "streams", any_case=True),
        "Accepted for compatibility. Group protocols follow the features group.version and share.version.",
    ),
    ConfigKey("group.min.session.timeout.ms", Type.INT, 6000, None, "Shortest session of a classic member."),
    ConfigKey("group.max.session.timeout.ms", Type.INT, 1_800_000, None, "Longest session of a classic member."),
    ConfigKey("group.initial.rebalance.delay.ms", Type.INT, 3000, None, "Wait for members of a new classic group."),
    ConfigKey("group.max.size", Type.INT, INT_TOP, _POSITIVE, "The most members of a classic group."),
    ConfigKey("group.consumer.session.timeout.ms", Type.INT, 45_000, _POSITIVE, "Session of consumer group members."),
    ConfigKey("group.consumer.min.session.timeout.ms", Type.INT, 45_000, _POSITIVE, "Least value a group may set."),
    ConfigKey("group.consumer.max.session.timeout.ms", Type.INT, 60_000, _POSITIVE, "Greatest value a group may set."),
    ConfigKey(
        "group.consumer.heartbeat.interval.ms", Type.INT, 5000, _POSITIVE, "Heartbeats of consumer group members."
    ),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", Type.INT, 5000, _POSITIVE, "Least value a group may set."),
    ConfigKey(
        "group.consumer.max.heartbeat.interval.ms", Type.INT, 15_000, _POSITIVE, "Greatest value a group may set."
    ),
    ConfigKey(
        "group.consumer.assignor.offload.enable",
        Type.BOOLEAN,
        True,
        None,
        "Accepted for compatibility. Consumer groups are assigned in their coordinator's thread.",
        internal=True,
    ),
    ConfigKey(
        "group.consumer.assignment.interval.ms",
        Type.INT,
        1000,
        _NON_NEGATIVE,
        "Least time between two assignments of a consumer group.",
        mode=_DYNAMIC,
    ),
    ConfigKey("group.consumer.min.assignment.interval.ms", Type.INT, 0, _NON_NEGATIVE, "Least value a group may set."),
    ConfigKey(
        "group.consumer.max.assignment.interval.ms", Type.INT, 15_000, _NON_NEGATIVE, "Greatest value a group may set."
    ),
    ConfigKey("group.consumer.max.size", Type.INT, INT_TOP, _POSITIVE, "The most members of a consumer group."),
    ConfigKey(
        "group.consumer.assignors",
        Type.LIST,
        ("uniform", "range"),
        NonEmptyList(),
        "Assignors a consumer group may ask for; the first is used where none is asked for.",
    ),
    ConfigKey(
        "group.consumer.migration.policy",
        Type.STRING,
        "bidirectional",
        OneOf("bidirectional", "upgrade", "downgrade", "disabled", any_case=True),
        "Which conversions between classic and consumer groups with members are made.",
    ),
    ConfigKey(
        "group.consumer.regex.refresh.interval.ms",
        Type.INT,
        600_000,
        Range(10_000),
        "How often subscriptions by pattern are resolved again.",
        internal=True,
    ),
)

_TRANSACTION_KEYS: Final = (
    ConfigKey("transaction.state.log.num.partitions", Type.INT, 50, _POSITIVE, "Partitions of `__transaction_state`."),
    # Kafka's defaults are 3 and 2.
    ConfigKey(
        "transaction.state.log.replication.factor", Type.SHORT, 1, _POSITIVE, "Replicas of `__transaction_state`."
    ),
    ConfigKey(
        "transaction.state.log.min.isr",
        Type.INT,
        1,
        _POSITIVE,
        "min.insync.replicas of `__transaction_state`. More than 1 counts as 1.",
    ),
    ConfigKey("transaction.state.log.segment.bytes", Type.INT, 104_857_600, _POSITIVE, "Its segment size."),
    ConfigKey(
        "transaction.max.timeout.ms", Type.INT, 900_000, _POSITIVE, "The longest transaction a producer may ask for."
    ),
    ConfigKey(
        "transactional.id.expiration.ms", Type.INT, 604_800_000, _POSITIVE, "Life of an unused transactional id."
    ),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Type.INT,
        10_000,
        _POSITIVE,
        "How often transactions past their timeout are aborted.",
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Type.INT,
        3_600_000,
        _POSITIVE,
        "How often unused transactional ids are removed.",
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        Type.BOOLEAN,
        True,
        None,
        "Whether a transactional write needs its partition in the transaction.",
        mode=_DYNAMIC,
    ),
    ConfigKey(
        "producer.id.expiration.ms", Type.INT, _DAY_MS, _POSITIVE, "Memory of an idle producer's state.", mode=_DYNAMIC
    ),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        Type.INT,
        600_000,
        _POSITIVE,
        "How often idle producers are forgotten.",
        internal=True,
    ),
)

# Apache Kafka has none of these: a full disk ends it.
_DISK_KEYS: Final = (
    ConfigKey(
        "shareq.disk.warn.bytes",
        Type.LONG,
        4 * _GIB,
        _NON_NEGATIVE,
        "A warning is logged when the data folder's file system has less left; never more than a tenth of it.",
    ),
    ConfigKey(
        "shareq.disk.refuse.bytes",
        Type.LONG,
        _GIB // 4,
        _NON_NEGATIVE,
        "Records of clients and new topics are refused when less is left; never more than a twentieth of the file "
        "system. Below a quarter of it only acknowledgements, offset commits and deletions are taken.",
    ),
    ConfigKey(
        "shareq.disk.reserve.bytes",
        Type.LONG,
        _GIB // 32,
        _NON_NEGATIVE,
        "Blocks kept back in the file `reserve`, with which a full disk is made free again; never more than a fiftieth "
        "of the file system. 0: none.",
    ),
)

_METRICS_KEYS: Final = (
    ConfigKey(
        "shareq.metrics.names",
        Type.BOOLEAN,
        None,
        None,
        "Whether the metrics name topics and groups; if not given, they do unless access is restricted by ACLs. "
        "Without names there is one sample for all.",
    ),
)

# What Apache Kafka bounds only if set (members), or not at all. The defaults are far above what honest clients have.
_OWNER_KEYS: Final = (
    ConfigKey(
        "shareq.audit.max.lines.per.minute",
        Type.INT,
        None,
        Range(1, None),
        "The most lines of the audit log about one user at one address in a minute, denials and what is allowed apart; "
        "the others are counted. Without it every decision is logged.",
    ),
    ConfigKey(
        "shareq.max.groups.per.principal",
        Type.INT,
        10_000,
        Range(1, 100_000),
        "The most groups that one user makes; of clients that did not authenticate, one address. A new group over it "
        "is refused.",
    ),
    ConfigKey(
        "shareq.max.members.per.principal",
        Type.INT,
        10_000,
        Range(1, 1_000_000),
        "The most members of groups that one user has; of clients that did not authenticate, one address. A new member "
        "over it is refused.",
    ),
    ConfigKey(
        "shareq.max.producer.ids.per.principal",
        Type.INT,
        200_000,
        Range(1, 10_000_000),
        "The most producer ids of one user that partitions remember, counted once in each; of clients that did not "
        "authenticate, one address. A new one over it is refused.",
    ),
    ConfigKey(
        "shareq.max.transactional.ids.per.principal",
        Type.INT,
        100_000,
        Range(1, 10_000_000),
        "The most transactional ids that one user makes; of clients that did not authenticate, one address. A new one "
        "over it is refused.",
    ),
)

BROKER_KEYS: Final = ConfigDef(
    (
        *_SERVER_KEYS,
        *OAUTH_KEYS,
        *TLS_KEYS,
        *_TOPIC_KEYS,
        *_LOG_KEYS,
        *_OFFSETS_KEYS,
        *_GROUP_KEYS,
        *SHARE_KEYS,
        *_TRANSACTION_KEYS,
        *_DISK_KEYS,
        *_METRICS_KEYS,
        *RECORDS_API_KEYS,
        *_OWNER_KEYS,
    )
)
