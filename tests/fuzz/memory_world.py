"""A whole broker without sockets, and clients that send it the frames, on virtual time: a seed replays it.

Frames pass the real connection code singly, several in one read, or in two reads. Half of the worlds have an
authorizer, and clients with all, some and no rights; each has a client that is not authenticated yet.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.data_folder_ground import data_folder_of
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.network.answers import AnswerSlot
from shareq.broker.network.connection import Connection
from shareq.broker.network.sasl_gate import SaslGates
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.api_versions import ApiVersionsRequest
from shareq.protocol.primitives import Message
from tests.fuzz.as_kafka import IsOdd
from tests.fuzz.frames import Frames, Sent
from tests.fuzz.neighbour import Neighbour
from tests.fuzz.oracle import Defect, Log, Outcome, gets_no_answer, judged, request_in
from tests.simulation.audit_coordinators import share_states
from tests.simulation.ledger import InvariantBroken
from tests.simulation.reading import contents
from tests.support.clients.access import STANDARD
from tests.support.clients.sasl import SaslWorld, sasl_properties
from tests.support.metered_clock import MeteredClock

if TYPE_CHECKING:
    from tests.simulation.world import World

FRAMES: Final = 400
"""The number of frames of one world. Then a new world begins, so that a failure can be replayed soon."""

STALL_NS: Final = 100_000_000
MOST_PEAK_BYTES: Final = 48 * 1024 * 1024
"""The memory that a frame may take for a while, in addition to fifty bytes for each of its own."""

NEIGHBOUR_EVERY: Final = 25  # frames
NEIGHBOUR_MS: Final = 10_000  # or after so long
MOST_WAIT_MS: Final = 2**31  # what a client may ask to wait, at most
MAY_ASK: Final = (ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.SHARE_FETCH)
OTHERS_WAIT_MS: Final = 86_400_000  # far more than any other request, or one that is throttled, has to wait
PIPELINED: Final = (1, 1, 1, 1, 1, 2, 5)
SUPER, ALICE, NOBODY, NEIGHBOUR = "User:super", "User:alice", "User:nobody", "User:neighbour"
STRANGER: Final = "nobody yet"
BEFORE_LOGIN: Final = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS)

Counts = Counter[tuple[str, bool, Outcome]]
"""The number of frames by RPC, by whether the frame was mutated, and by outcome."""


@dataclass(slots=True)
class Peer:
    """A client. `waiting`: its unanswered frames, the oldest first."""

    number: int
    principal: str
    connection: MockConnection
    waiting: deque[Sent] = field(default_factory=deque)
    states: frozenset[SharePartitionKey] = frozenset()  # that there were when the oldest of them was sent


class MemoryWorld:
    """A world: `run` once; raises Defect.

    `counts` are the outcomes of frames, `sent` the newest frames, `taken` their number.
    """

    def __init__(self, seed: int, log: Log, frames: int = FRAMES) -> None:
        self.seed = seed
        self.log = log
        self.authorized = bool(seed % 2)
        self.is_traced = seed % 10 == 7
        self.frames = Frames(f"fuzz {seed}")
        self.rng = self.frames.rng
        self.counts: Counts = Counter()
        self.sent: deque[Sent] = deque(maxlen=8)
        self.taken = 0
        self.longest_ns = 0
        self.largest_peak = 0
        self._frames = frames
        gc.unfreeze()  # what others kept from the collector would be seen at the end alone
        self._alive_before = _alive()
        self.clock = MeteredClock()
        self.world = self._make_world()
        self._peers: list[Peer] = []
        self._parked: list[Peer] = []
        self._connections = 0
        who = (SUPER, ALICE, NOBODY, STRANGER) if self.authorized else ("", "", "", STRANGER)
        self._peers = [self._peer(principal) for principal in who]
        self._last_step_ms = 0
        self._neighbours = self._neighbours_connection()
        self.neighbour = Neighbour(self._neighbours)

    def run(self) -> None:
        gc_was_enabled = gc.isenabled()
        gc.disable()  # it would take its time in the middle of any frame
        try:
            if self.is_traced:
                tracemalloc.start()
            self._run()
            if self.is_traced:
                tracemalloc.stop()
            self._end()
        finally:
            tracemalloc.stop()
            if gc_was_enabled:
                gc.enable()

    def run_one(self, data: bytes) -> str:
        """Send one frame once its objects exist; return its outcome. Raises Defect."""
        self._run()
        client = self._peer(self._peers[0].principal)
        frame = Sent(ApiKey.API_VERSIONS, 0, data, ("given",), ApiVersionsRequest())
        client.waiting.append(frame)
        self.clock.measured(lambda: client.connection.send_raw(data))
        self.clock.advance(MOST_WAIT_MS if not client.connection.frames else 0)
        self.log.check()
        if client.connection.frames:
            return str(judged(data, client.connection.frames[0], self._odd_states(client)))
        reasons = self.log.closed.get(str(client.connection.side))
        return f"closed: {reasons}" if client.connection.closed else "no answer"

    def _make_world(self) -> BrokerWorld:
        properties = sasl_properties()
        properties |= {"offsets.topic.num.partitions": "2", "share.coordinator.state.topic.num.partitions": "2"}
        properties |= {"transaction.state.log.num.partitions": "2", "group.initial.rebalance.delay.ms": "0"}
        if self.authorized:
            properties |= {"authorizer.class.name": STANDARD, "super.users": f"{SUPER};{NEIGHBOUR}"}
        world = SaslWorld(properties, clock=self.clock)
        world.logs_every_refusal = True
        if self.authorized:
            world.services.metadata.alter_acls([PutAcl(acl) for acl in _rights_of_alice()])
        return world

    def _peer(self, principal: str) -> Peer:
        self._connections += 1
        connection = self.world.connect()
        side = connection.side
        if principal == STRANGER:
            services = self.world.services
            security = self.world.config.security["SASL_PLAINTEXT"]
            gates = SaslGates(security, self.clock, services.scram_credential, services.env.secret_bytes)
            gates.guard(side)
        elif principal:
            side.principal = principal
        return Peer(self._connections, principal, connection)

    def _neighbours_connection(self) -> MockConnection:
        connection = self.world.connect(client_id="neighbour")
        if self.authorized:
            connection.side.principal = NEIGHBOUR
        return connection

    # -- frames

    def _run(self) -> None:
        while self.taken < self._frames:
            index = self.rng.choice((0, 0, 0, 1, 1, 2, 3))
            self._send(index)
            passed = self.rng.choice((0,) * 30 + (1, 50, 1_000))
            if passed:
                self.clock.advance(passed)
            self._collect()
            if self.taken % NEIGHBOUR_EVERY == 0 or self.clock.now_ms() - self._last_step_ms > NEIGHBOUR_MS:
                self._last_step_ms = self.clock.now_ms()
                self.neighbour.step()
                self.log.check()

    def _send(self, index: int) -> None:
        peer = self._peers[index]
        apis = BEFORE_LOGIN if peer.principal == STRANGER and self.rng.random() < 0.8 else None
        gentle = index == 0 or (apis is not None and self.rng.random() < 0.7)
        frames = [self.frames.next(peer.number, apis, gentle=gentle) for _ in range(self.rng.choice(PIPELINED))]
        self.taken += len(frames)
        self.sent.extend(frames)
        data = b"".join(frame.data for frame in frames)
        cut = self.rng.randrange(len(data) + 1) if self.rng.random() < 0.1 else len(data)
        peer.waiting.extend(frames)
        peer.states = self._share_states()
        self.clock.longest_ns = 0
        before = self._begin_tracing()
        for part in (data[:cut], data[cut:]):
            if part and not peer.connection.closed:
                self.clock.measured(lambda part=part: peer.connection.send_raw(part))  # type: ignore[misc]
        self.clock.run_until_idle()
        if peer.waiting and not peer.connection.closed and not peer.connection.frames:
            self.clock.advance(self.rng.choice((1, 100)))
        self._check_costs(before, len(data))
        self._take_answers(peer)
        odd = next((frame for frame in frames if frame.has_odd_size), None)
        if peer.connection.closed or odd is not None:
            self._replace(index)
        elif peer.waiting:
            self._parked.append(peer)
            self._peers[index] = self._peer(peer.principal)

    def _begin_tracing(self) -> int:
        if not tracemalloc.is_tracing():
            return 0
        tracemalloc.reset_peak()
        return tracemalloc.get_traced_memory()[0]

    def _check_costs(self, before: int, size: int) -> None:
        if not tracemalloc.is_tracing():
            self.longest_ns = max(self.longest_ns, self.clock.longest_ns)
            if self.clock.longest_ns > STALL_NS:
                raise Defect(f"the loop was held for {self.clock.longest_ns / 1e6:.0f} ms of CPU")
        else:
            peak = tracemalloc.get_traced_memory()[1] - before
            self.largest_peak = max(self.largest_peak, peak)
            if peak > MOST_PEAK_BYTES + 50 * size:
                raise Defect(f"{peak / 1e6:.0f} MB of memory for {size} bytes")

    def _replace(self, index: int) -> None:
        peer = self._peers[index]
        if not peer.connection.closed:
            peer.connection.disconnect()
        peer.waiting.clear()
        self.frames.facts.connection_lost(peer.number)
        self._peers[index] = self._peer(peer.principal)

    def _collect(self) -> None:
        for peer in self._parked:
            self._take_answers(peer)
        self._parked = [peer for peer in self._parked if peer.waiting]
        self.log.check()

    def _take_answers(self, peer: Peer) -> None:
        connection = peer.connection
        while connection.frames:
            payload = connection.frames.popleft()
            self._pass_silent(peer)
            if not peer.waiting:
                raise Defect(f"an answer to nothing: {payload[:100].hex()}")
            frame = peer.waiting.popleft()
            if frame.has_odd_size:
                peer.waiting.clear()  # where the next frame begins the broker cannot know
                connection.frames.clear()
                self._count(frame, Outcome.ODD_SIZE)
                break
            self.sent.append(frame)
            outcome, response = judged(frame.data, payload, self._odd_states(peer))
            self._count(frame, outcome)
            self._learn(peer, frame, response)
        if connection.closed:
            self._check_close(peer)
        else:
            self._pass_silent(peer)

    def _pass_silent(self, peer: Peer) -> None:
        while peer.waiting and gets_no_answer(peer.waiting[0].data) and not peer.waiting[0].has_odd_size:
            self._count(peer.waiting.popleft(), Outcome.SILENT)

    def _check_close(self, peer: Peer) -> None:
        """Check for one log line with a reason; the oldest unanswered frame caused it."""
        reasons = self.log.closed.pop(str(peer.connection.side), [])
        if len(reasons) != 1 or not reasons[0]:
            raise Defect(f"closed with {len(reasons)} lines in the log: {reasons}")
        if "internal error" in reasons[0]:
            raise Defect(f"closed: {reasons[0]}")
        if peer.waiting:
            self._count(peer.waiting.popleft(), Outcome.CLOSED)
        for frame in peer.waiting:
            self._count(frame, Outcome.BEHIND)
        peer.waiting.clear()

    def _count(self, frame: Sent, outcome: Outcome) -> None:
        self.counts[frame.api.name, bool(frame.bends), outcome] += 1

    def _share_states(self) -> frozenset[SharePartitionKey]:
        made = self.world.services.made.share_states
        if made is None:
            return frozenset()
        return frozenset(key for partition in made.partitions for key in partition.shard.share_partitions())

    def _odd_states(self, peer: Peer) -> IsOdd:
        """Return a test for share partitions without a state, or with one that requests have written."""
        there = peer.states & self._share_states()
        outside = self.frames.facts.written_outside
        return lambda group, topic_id, partition: (
            group in outside or SharePartitionKey(group, topic_id, partition) not in there
        )

    def _learn(self, peer: Peer, frame: Sent, response: Message) -> None:
        request = request_in(frame.data)
        if request is not None:
            self.frames.facts.connection = peer.number
            self.frames.facts.learn(request, response)

    # -- the end

    def _end(self) -> None:
        """Check that all is answered, nothing leaks, memory agrees with the disk, and a restart works."""
        self.neighbour.step()
        self._wait_for_the_rest()
        self._disconnect()
        self._audit()
        self._restart(clean=True)
        self._audit()
        self._restart(clean=False)
        self.log.check()
        self._check_nothing_is_left()

    def _disconnect(self) -> None:
        for peer in (*self._peers, *self._parked):
            if not peer.connection.closed:
                peer.connection.disconnect()
        self._peers, self._parked = [], []
        self.clock.run_until_idle()

    def _wait_for_the_rest(self) -> None:
        began = self.clock.now_ms()
        while self._parked and self.clock.now_ms() - began <= self._longest_wait_ms():
            self.clock.advance(max(1_000, (self.clock.now_ms() - began) // 2))
            self._collect()
        if self._parked:
            self.sent.extend(peer.waiting[0] for peer in self._parked)
            raise Defect(f"never answered: {'; '.join(str(peer.waiting[0]) for peer in self._parked)}")

    def _longest_wait_ms(self) -> int:
        """Return the longest wait of a parked request.

        It is read from the frames' bytes, because the request may have been mutated.
        """
        asked = {int.from_bytes(frame.data[4:6], "big") for peer in self._parked for frame in peer.waiting}
        return OTHERS_WAIT_MS if asked.isdisjoint(MAY_ASK) else MOST_WAIT_MS

    def _restart(self, *, clean: bool) -> None:
        self.world.restart(clean=clean)
        self._neighbours = self._neighbours_connection()
        self.neighbour.reconnect(self._neighbours)
        self.neighbour.step()

    def _audit(self) -> None:
        """Check that coordinators agree with their logs, and every log is readable."""
        services = self.world.services
        try:
            if services.made.share_states is not None:
                share_states(cast("World", self.world))
            for topic in services.metadata.topics():
                for partition in range(topic.partitions):
                    contents(data_folder_of(services).logs.get(topic.name, partition))
        except InvariantBroken as broken:
            raise Defect(f"at the end: {broken}") from broken

    def _check_nothing_is_left(self) -> None:
        self.sent.clear()
        self._neighbours.disconnect()
        del self._neighbours, self.neighbour
        gc.unfreeze()  # a coordinator's reload has the collector pass over all there was, cycles too: `Collector.keep`
        gc.collect()
        left = _alive() - self._alive_before
        if left:
            raise Defect(f"left in memory when every client is gone: {dict(left)}")


def _alive() -> Counter[str]:
    """Count by class the objects that exist only while a client does."""
    found = Counter[str]()
    for each in gc.get_objects():
        of = type(each)
        if of in _OF_CLIENTS or (issubclass(of, Message) and of.__name__.endswith("Request")):
            found[of.__name__] += 1
    return found


_OF_CLIENTS: Final = (Connection, RequestContext, AnswerSlot)


def _rights_of_alice() -> list[Acl]:
    of: list[tuple[ResourceKind, str, Operation]] = [
        (ResourceKind.TOPIC, "orders", Operation.ALL),
        (ResourceKind.TOPIC, "copies", Operation.DESCRIBE),
        (ResourceKind.GROUP, "share-a", Operation.READ),
        (ResourceKind.GROUP, "consumer-a", Operation.ALL),
        (ResourceKind.GROUP, "classic-a", Operation.READ),
        (ResourceKind.TRANSACTIONAL_ID, "tx-a", Operation.ALL),
    ]
    return [Acl(kind, name, PatternType.LITERAL, ALICE, "*", what, Permission.ALLOW) for kind, name, what in of]
