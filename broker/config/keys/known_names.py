"""Apache Kafka 4.3.1's other broker properties, which are valid in a `server.properties` but have no effect here.

Most are about replication, controllers, threads or remote storage, which one process with one replica does not have.
This module is imported only when a property file has a name that is not in `BROKER_KEYS`, and for the properties of
a test.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from shareq.broker.config.keys.broker import BROKER_KEYS

_NAMES: Final = """
add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
alter.log.dirs.replication.quota.window.size.seconds auto.include.jmx.reporter
auto.leader.rebalance.enable background.threads broker.heartbeat.interval.ms broker.session.timeout.ms
client.quota.callback.class config.providers
controlled.shutdown.enable controller.quorum.append.linger.ms controller.quorum.auto.join.enable
controller.quorum.bootstrap.servers controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms
controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms controller.quorum.voters
controller.socket.timeout.ms cordoned.log.dirs
create.topic.policy.class.name delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
delegation.token.max.lifetime.ms delegation.token.secret.key delete.records.purgatory.purge.interval.requests
early.start.listeners fetch.purgatory.purge.interval.requests follower.fetch.last.tiered.offset.enable
group.coordinator.append.linger.ms group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
group.coordinator.threads group.streams.assignment.interval.ms group.streams.heartbeat.interval.ms
group.streams.initial.rebalance.delay.ms group.streams.max.assignment.interval.ms
group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
group.streams.max.standby.replicas group.streams.min.assignment.interval.ms group.streams.min.heartbeat.interval.ms
group.streams.min.session.timeout.ms group.streams.num.standby.replicas group.streams.session.timeout.ms
initial.broker.registration.timeout.ms inter.broker.listener.name kafka.metrics.polling.interval.secs
kafka.metrics.reporters leader.imbalance.check.interval.seconds
log.dir.failure.timeout.ms log.flush.offset.checkpoint.interval.ms log.flush.start.offset.checkpoint.interval.ms
log.initial.task.delay.ms log.local.retention.bytes log.local.retention.ms
metadata.log.dir metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
metadata.log.segment.bytes metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes
metadata.max.retention.ms metric.reporters metrics.jmx.exclude metrics.jmx.include metrics.num.samples
metrics.recording.level metrics.sample.window.ms num.io.threads num.network.threads
num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads num.replica.fetchers offsets.load.buffer.size
principal.builder.class process.roles producer.purgatory.purge.interval.requests
queued.max.requests remote.fetch.max.wait.ms
remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
remote.log.manager.follower.thread.pool.size remote.log.manager.task.interval.ms remote.log.manager.thread.pool.size
remote.log.metadata.custom.metadata.max.bytes remote.log.metadata.manager.class.name
remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks remote.log.reader.threads
remote.log.storage.manager.class.name remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
remote.log.storage.system.enable replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes
replica.fetch.response.max.bytes replica.fetch.wait.max.ms replica.high.watermark.checkpoint.interval.ms
replica.lag.time.max.ms replica.selector.class replica.socket.receive.buffer.bytes replica.socket.timeout.ms
replication.quota.window.num replication.quota.window.size.seconds request.timeout.ms
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class security.inter.broker.protocol
security.providers socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.keymanager.algorithm ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm telemetry.max.bytes transaction.state.log.load.buffer.size
transaction.two.phase.commit.enable unstable.api.versions.enable unstable.feature.versions.enable
"""

KNOWN: Final = frozenset(_NAMES.split())

KNOWN_PREFIXES: Final = ("listener.name.", "rlmm.config.", "rsm.config.", "config.providers.")

_ALIKE: Final = 0.85  # difflib's ratio; names of different properties are often alike

_NOTES: Final = {
    "create.topic.policy.class.name": "is not acted on: Java policies cannot run here",
    "alter.config.policy.class.name": "is not acted on: Java policies cannot run here",
}


def is_known(name: str) -> bool:
    """Return True if Apache Kafka 4.3.1 has a broker property of this name, with or without effect here."""
    return name in KNOWN or name.startswith(KNOWN_PREFIXES)


def is_property(name: str) -> bool:
    """Return True if this broker or Apache Kafka 4.3.1 has a broker property of this name."""
    return BROKER_KEYS.canonical(name) is not None or is_known(name)


def nearest(unknown: str) -> str | None:
    """Return the property that an unknown name most likely stands for; it may have no effect here. None if no name
    is similar.
    """
    found = get_close_matches(unknown.lower(), [*BROKER_KEYS.names(), *KNOWN], n=1, cutoff=_ALIKE)
    return found[0] if found else None


def did_you_mean(unknown: str) -> str:
    """Return the end of a message about an unknown name: the similar name, "" if there is none."""
    meant = nearest(unknown)
    return f"; did you mean {meant}?" if meant else ""


def note_for(name: str) -> str | None:
    """Return the note on a known name without effect, as the end of a sentence; None if there is none."""
    return _NOTES.get(name)
