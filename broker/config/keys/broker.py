"""The broker's properties: Apache Kafka 4.3.1's names, defaults and bounds, for all properties that have an effect
here.

Where a default differs from Kafka's, a comment says so: one broker cannot hold three replicas, and it listens on the
loopback interface only unless configured otherwise. A property is declared once, here or in the module that uses it,
with its type, bounds, default, documentation, and attribute of `BrokerConfig`. Properties that groups may override,
and whose defaults are set here, are declared with the groups' settings (`shareq.coordinator.ports`).
"""

from __future__ import annotations

from typing import Final

from shareq.broker.config.keys.log import LogProperties, TopicProperties
from shareq.broker.config.keys.node import NodeProperties
from shareq.broker.config.keys.oauth import OauthProperties
from shareq.broker.config.keys.records_api import RecordsApiProperties
from shareq.broker.config.keys.share import DeadLetterProperties, ShareCoordinatorProperties, ShareGroupProperties
from shareq.broker.config.keys.tls import TlsProperties
from shareq.coordinator.ports import group_properties
from shareq.protocol.config_def import INT_MAX as INT_TOP
from shareq.protocol.config_def import (
    ConfigDef,
    ConfigType,
    NonEmptyList,
    OneOf,
    UpdateMode,
    boolean,
    broker_keys,
    declared,
    integer,
    long,
    short,
    text,
    words,
)

_DYNAMIC: Final = UpdateMode.CLUSTER_WIDE
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_GIB: Final = 1024**3


class ServerProperties:
    """Properties of the process: its id, listeners, access, data folder, connections, quotas."""

    node_id = integer(
        "node.id",
        1,
        "This broker's number. Of a node: from 1000000 on by machine and address if not given.",
        at_least=0,
        aliases=("broker.id",),
    )
    broker_rack = text("broker.rack", None, "The rack this broker reports to clients.")
    listeners = words(
        "listeners",
        ("PLAINTEXT://127.0.0.1:9092",),
        "Addresses to listen on, as NAME://HOST:PORT. An empty host means every interface, port 0 any free port.",
        valid=NonEmptyList(),
    )
    advertised_listeners = words(
        "advertised.listeners",
        None,
        "Addresses that clients are to connect to, by listener name; the listener's own address if not given.",
        valid=NonEmptyList(),
    )
    listener_security_protocol_map = text(
        "listener.security.protocol.map",
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener name, as NAME:PROTOCOL, with commas between several.",
    )
    controller_listener_names = words(
        "controller.listener.names",
        (),
        "Names in `listeners` that are for controllers. There is no separate controller, so they are not opened.",
    )
    sasl_enabled_mechanisms = words(
        "sasl.enabled.mechanisms",
        ("GSSAPI",),
        "How clients of listeners with SASL may authenticate: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. The "
        "default is Apache Kafka's, and not served.",
    )
    sasl_server_max_receive_size = integer(
        "sasl.server.max.receive.size", 524_288, "The largest request before authentication, in bytes."
    )
    connection_failed_authentication_delay_ms = integer(
        "connection.failed.authentication.delay.ms",
        100,
        "How long the answer to a failed authentication, and the end of its connection, is held back.",
        at_least=0,
    )
    connections_max_reauth_ms = long(
        "connections.max.reauth.ms", 0, "How long a client may go on until it authenticates again; 0: for ever."
    )
    authorizer_class_name = text(
        "authorizer.class.name",
        "",
        "Apache Kafka's StandardAuthorizer restricts access by ACLs; without one every client may do everything.",
        valid=OneOf("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    )
    # Apache Kafka does not list these two either: they belong to the authorizer.
    super_users = text("super.users", "", "Principals who may do everything, TYPE:NAME.", internal=True)
    allow_everyone_if_no_acl_found = boolean(
        "allow.everyone.if.no.acl.found",
        False,
        "Whether every client may do everything to a resource that no ACL is about.",
        internal=True,
    )
    log_dirs = words("log.dirs", None, "The data folder; exactly one. Wins over `log.dir`.", valid=NonEmptyList())
    log_dir = text(
        "log.dir", "./shareq-data", "The data folder, if `log.dirs` is not given.", described_as=ConfigType.LIST
    )
    socket_request_max_bytes = integer(
        "socket.request.max.bytes", 104_857_600, "The largest request accepted, in bytes.", at_least=1
    )
    # Apache Kafka's default is -1, no limit. Here the default is a safe limit: two requests of the largest size, and
    # more than a hundred of a megabyte, the most that producers send by default; the limit of answers is the same.
    queued_max_request_bytes = long(
        "queued.max.request.bytes",
        268_435_456,
        "The most bytes of requests that all connections together have sent and that are not handled; a connection "
        "that would have more is not read until there is room. At least socket.request.max.bytes; 0 or less: no limit.",
    )
    socket_send_buffer_bytes = integer(
        "socket.send.buffer.bytes", 102_400, "SO_SNDBUF of connections; -1: the system's.", at_least=-1
    )
    socket_receive_buffer_bytes = integer(
        "socket.receive.buffer.bytes", 102_400, "SO_RCVBUF of connections; -1: the system's.", at_least=-1
    )
    # Apache Kafka's default is 50: of a burst of 500 clients most would try again a second later, as TCP does.
    socket_listen_backlog_size = integer(
        "socket.listen.backlog.size",
        1_024,
        "Connections the system may hold unaccepted, no more than it allows (`net.core.somaxconn`).",
        at_least=1,
    )
    max_connections = integer(
        "max.connections", INT_TOP, "The most connections open at a time.", at_least=0, mode=_DYNAMIC
    )
    max_connections_per_ip = integer(
        "max.connections.per.ip",
        INT_TOP,
        "The most connections open from one address; 0 only together with overrides.",
        at_least=0,
        mode=_DYNAMIC,
    )
    max_connections_per_ip_overrides = text(
        "max.connections.per.ip.overrides",
        "",
        "Limits for single addresses, as ADDRESS:LIMIT with commas between them.",
        mode=_DYNAMIC,
    )
    max_connection_creation_rate = integer(
        "max.connection.creation.rate",
        INT_TOP,
        "The most new connections in a second; those that come faster wait.",
        at_least=0,
        mode=_DYNAMIC,
    )
    connections_max_idle_ms = long(
        "connections.max.idle.ms", 600_000, "A connection silent for so long is closed; negative: never."
    )
    quota_window_num = integer("quota.window.num", 11, "Windows of the rates that client quotas are about.", at_least=1)
    quota_window_size_seconds = integer(
        "quota.window.size.seconds", 1, "Length of each window of these rates.", at_least=1
    )
    controller_quota_window_num = integer(
        "controller.quota.window.num", 11, "Windows of the rate `controller_mutation_rate`.", at_least=1
    )
    controller_quota_window_size_seconds = integer(
        "controller.quota.window.size.seconds", 1, "Length of each window of that rate.", at_least=1
    )
    fetch_max_bytes = integer(
        "fetch.max.bytes", 57_671_680, "The most record bytes one Fetch answer carries.", at_least=1024
    )
    max_incremental_fetch_session_cache_slots = integer(
        "max.incremental.fetch.session.cache.slots", 1000, "The most fetch sessions kept.", at_least=0
    )
    max_request_partition_size_limit = integer(
        "max.request.partition.size.limit",
        2000,
        "The most partitions that one DescribeTopicPartitions answer carries.",
        at_least=1,
    )


class OffsetsProperties:
    """Properties of committed offsets and their topic."""

    offsets_topic_num_partitions = integer(
        "offsets.topic.num.partitions", 50, "Partitions of `__consumer_offsets`.", at_least=1
    )
    # Kafka's default is 3.
    offsets_topic_replication_factor = short(
        "offsets.topic.replication.factor", 1, "Replicas of `__consumer_offsets`.", at_least=1
    )
    offsets_topic_segment_bytes = integer(
        "offsets.topic.segment.bytes", 104_857_600, "Segment size of `__consumer_offsets`.", at_least=1
    )
    offsets_topic_compression_codec = integer(
        "offsets.topic.compression.codec", 0, "Codec of coordinator batches; 0: none.", at_least=0, at_most=4
    )
    offsets_retention_minutes = integer(
        "offsets.retention.minutes", 10_080, "Life of an empty group's offsets.", at_least=1
    )
    offsets_retention_check_interval_ms = long(
        "offsets.retention.check.interval.ms", 600_000, "How often offsets are expired.", at_least=1
    )
    offset_metadata_max_bytes = integer(
        "offset.metadata.max.bytes", 4096, "The longest metadata of a committed offset."
    )
    offsets_commit_timeout_ms = integer(
        "offsets.commit.timeout.ms", 5000, "Time a coordinator's write may take.", at_least=1
    )


class GroupProperties:
    """Properties of classic and consumer groups."""

    group_coordinator_rebalance_protocols = words(
        "group.coordinator.rebalance.protocols",
        ("classic", "consumer", "streams"),
        "Accepted for compatibility. Group protocols follow the features group.version and share.version.",
        valid=OneOf("classic", "consumer", "share", "streams", any_case=True),
    )
    group_min_session_timeout_ms = integer(
        "group.min.session.timeout.ms", 6000, "Shortest session of a classic member."
    )
    group_max_session_timeout_ms = integer(
        "group.max.session.timeout.ms", 1_800_000, "Longest session of a classic member."
    )
    group_initial_rebalance_delay_ms = integer(
        "group.initial.rebalance.delay.ms", 3000, "Wait for members of a new classic group."
    )
    group_max_size = integer("group.max.size", INT_TOP, "The most members of a classic group.", at_least=1)
    group_consumer_assignor_offload_enable = boolean(
        "group.consumer.assignor.offload.enable",
        True,
        "Accepted for compatibility. Consumer groups are assigned in their coordinator's thread.",
        internal=True,
    )
    group_consumer_max_size = integer(
        "group.consumer.max.size", INT_TOP, "The most members of a consumer group.", at_least=1
    )
    group_consumer_assignors = words(
        "group.consumer.assignors",
        ("uniform", "range"),
        "Assignors a consumer group may ask for; the first is used where none is asked for.",
        valid=NonEmptyList(),
    )
    group_consumer_migration_policy = text(
        "group.consumer.migration.policy",
        "bidirectional",
        "Which conversions between classic and consumer groups with members are made.",
        valid=OneOf("bidirectional", "upgrade", "downgrade", "disabled", any_case=True),
    )
    group_consumer_regex_refresh_interval_ms = integer(
        "group.consumer.regex.refresh.interval.ms",
        600_000,
        "How often subscriptions by pattern are resolved again.",
        at_least=10_000,
        internal=True,
    )


class TransactionProperties:
    """Properties of transactions, their topic, and producers."""

    transaction_state_log_num_partitions = integer(
        "transaction.state.log.num.partitions", 50, "Partitions of `__transaction_state`.", at_least=1
    )
    # Kafka's defaults are 3 and 2.
    transaction_state_log_replication_factor = short(
        "transaction.state.log.replication.factor", 1, "Replicas of `__transaction_state`.", at_least=1
    )
    transaction_state_log_min_isr = integer(
        "transaction.state.log.min.isr",
        1,
        "min.insync.replicas of `__transaction_state`. More than 1 counts as 1.",
        at_least=1,
    )
    transaction_state_log_segment_bytes = integer(
        "transaction.state.log.segment.bytes", 104_857_600, "Segment size of `__transaction_state`.", at_least=1
    )
    transaction_max_timeout_ms = integer(
        "transaction.max.timeout.ms", 900_000, "The longest transaction a producer may ask for.", at_least=1
    )
    transactional_id_expiration_ms = integer(
        "transactional.id.expiration.ms", 604_800_000, "Life of an unused transactional id.", at_least=1
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "How often transactions past their timeout are aborted.",
        at_least=1,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "How often unused transactional ids are removed.",
        at_least=1,
    )
    transaction_partition_verification_enable = boolean(
        "transaction.partition.verification.enable",
        True,
        "Whether a transactional write needs its partition in the transaction.",
        mode=_DYNAMIC,
    )
    producer_id_expiration_ms = integer(
        "producer.id.expiration.ms", _DAY_MS, "Memory of an idle producer's state.", at_least=1, mode=_DYNAMIC
    )
    producer_id_expiration_check_interval_ms = integer(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "How often idle producers are forgotten.",
        at_least=1,
        internal=True,
    )


class DiskProperties:
    """Limits of free disk space. Apache Kafka has none of these, and stops when a disk is full."""

    shareq_disk_warn_bytes = long(
        "shareq.disk.warn.bytes",
        4 * _GIB,
        "A warning is logged when the data folder's file system has less left; never more than a tenth of it.",
        at_least=0,
    )
    shareq_disk_refuse_bytes = long(
        "shareq.disk.refuse.bytes",
        _GIB // 4,
        "Records of clients and new topics are refused when less is left; never more than a twentieth of the file "
        "system. Below a quarter of it only acknowledgements, offset commits and deletions are taken.",
        at_least=0,
    )
    shareq_disk_reserve_bytes = long(
        "shareq.disk.reserve.bytes",
        _GIB // 32,
        "Blocks kept back in the file `reserve`, with which a full disk is made free again; never more than a fiftieth "
        "of the file system. 0: none.",
        at_least=0,
    )


class MetricsProperties:
    """Properties of the metrics."""

    shareq_metrics_names = boolean(
        "shareq.metrics.names",
        None,
        "Whether the metrics name topics and groups; if not given, they do unless access is restricted by ACLs. "
        "Without names there is one sample for all.",
    )


class OwnerProperties:
    """Limits for one user.

    In Apache Kafka such limits are off by default (for members), or do not exist. The defaults are far above the
    needs of honest clients.
    """

    shareq_audit_max_lines_per_minute = integer(
        "shareq.audit.max.lines.per.minute",
        None,
        "The most lines of the audit log about one user at one address in a minute, denials and what is allowed apart; "
        "the others are counted. Without it every decision is logged.",
        at_least=1,
    )
    shareq_max_groups_per_principal = integer(
        "shareq.max.groups.per.principal",
        10_000,
        "The most groups that one user (without authentication: one address) may create.",
        at_least=1,
        at_most=100_000,
    )
    shareq_max_members_per_principal = integer(
        "shareq.max.members.per.principal",
        10_000,
        "The most members of groups that one user (without authentication: one address) has.",
        at_least=1,
        at_most=1_000_000,
    )
    shareq_max_producer_ids_per_principal = integer(
        "shareq.max.producer.ids.per.principal",
        200_000,
        "The most producer ids of one user (without authentication: one address) that partitions remember, counted "
        "once in each. A new one beyond that is refused.",
        at_least=1,
        at_most=10_000_000,
    )
    shareq_max_transactional_ids_per_principal = integer(
        "shareq.max.transactional.ids.per.principal",
        100_000,
        "The most transactional ids that one user (without authentication: one address) may use.",
        at_least=1,
        at_most=10_000_000,
    )


class BrokerProperties(
    ServerProperties,
    OauthProperties,
    TlsProperties,
    TopicProperties,
    LogProperties,
    OffsetsProperties,
    GroupProperties,
    ShareGroupProperties,
    ShareCoordinatorProperties,
    DeadLetterProperties,
    TransactionProperties,
    DiskProperties,
    MetricsProperties,
    RecordsApiProperties,
    OwnerProperties,
    NodeProperties,
):
    """Every property of the broker except the defaults of groups."""


_OF_GROUPS: Final = tuple(tuple(broker_keys(key)) for key in group_properties() if key.broker is not None)

BROKER_KEYS: Final = ConfigDef((*declared(BrokerProperties), *(key for triple in _OF_GROUPS for key in triple)))

BOUNDED: Final = tuple((own.name, least.name, greatest.name) for own, least, greatest in _OF_GROUPS)
"""Defaults of groups, each with the names of the smallest and the largest value that a group may set."""
