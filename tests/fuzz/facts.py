"""The known facts about the broker under test: existing names, ids, members with epochs, producers.

Requests use them to pass the first checks, and answers update them. A fact may become wrong; the upkeep (`cast.py`)
corrects it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import ZERO_UUID, Message

TOPICS: Final = {"orders": 3, "compacted": 1, "copies": 2}
SHARE_GROUPS: Final = ("share-a", "share-b")
CONSUMER_GROUPS: Final = ("consumer-a", "consumer-b")
CLASSIC_GROUPS: Final = ("classic-a", "classic-b")
STATE_GROUPS: Final = ("state-a", "share-b")  # of which share state is written from outside
GROUPS: Final = (*SHARE_GROUPS, *CONSUMER_GROUPS, *CLASSIC_GROUPS, "share-idle", "state-a", "nobody")
TRANSACTIONAL_IDS: Final = ("tx-a", "tx-b")
USERS: Final = ("alice", "bob", "carol")
CLIENT_IDS: Final = ("fuzz", "fuzz-other", "")

MOST_KEPT: Final = 12  # members, ranges and the like of a kind


@dataclass(slots=True)
class Topic:
    name: str
    topic_id: bytes
    partitions: int


@dataclass(slots=True)
class Member:
    """A member of any kind of group. `epoch` is also its generation. `connection`: the number of its connection."""

    group: str
    member_id: str
    epoch: int
    leader: bool = False


@dataclass(slots=True)
class Producer:
    """A producer id. `sequences`: the next one by topic and partition."""

    producer_id: int
    epoch: int
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class Acquired:
    """Records that a member has locked, both offsets included."""

    member: Member
    topic_id: bytes
    partition: int
    first: int
    last: int


class Facts:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.topics = [Topic(name, ZERO_UUID, count) for name, count in TOPICS.items()]
        self.gone: list[bytes] = []  # ids of topics that were deleted
        self.share: list[Member] = []
        self.consumer: list[Member] = []
        self.classic: list[Member] = []
        self.producers: list[Producer] = []
        self.transactions: dict[str, Producer] = {}
        self.acquired: list[Acquired] = []
        self.share_sessions: dict[tuple[int, str, str], int] = {}  # by connection, group, member: the next epoch
        self.fetch_sessions: dict[int, tuple[int, int]] = {}  # by connection: id and next epoch
        self.mechanisms: dict[int, str] = {}  # by connection: what was agreed on
        self.written_outside: set[str] = set()  # groups whose share state requests have changed
        self.redrives: list[str] = []  # names of those that were begun
        self.connection = 0  # of the request that is being made, or whose answer is learned

    def topic_of(self, topic_id: bytes) -> Topic | None:
        return next((topic for topic in self.topics if topic.topic_id == topic_id), None)

    def set_topic(self, name: str, topic_id: bytes, partitions: int) -> None:
        for topic in self.topics:
            if topic.name == name:
                if topic.topic_id not in (topic_id, ZERO_UUID):
                    self.gone = [*self.gone[-MOST_KEPT:], topic.topic_id]
                topic.topic_id, topic.partitions = topic_id, partitions

    def connection_lost(self, number: int) -> None:
        self.fetch_sessions.pop(number, None)
        self.mechanisms.pop(number, None)
        for key in [key for key in self.share_sessions if key[0] == number]:
            del self.share_sessions[key]

    def learn(self, request: Message, response: Message) -> None:
        """Learn from an answer without a top-level error, and its request."""
        learn = _LEARN.get(request.API_KEY)
        if learn is not None:
            learn(self, request, response)

    # -- by kind of answer. Any: each takes the classes of its own RPC.

    def _share_heartbeat(self, request: Any, response: Any) -> None:
        self._member(self.share, request.group_id, response.member_id or request.member_id, request, response)

    def _consumer_heartbeat(self, request: Any, response: Any) -> None:
        self._member(self.consumer, request.group_id, response.member_id or request.member_id, request, response)

    def _member(self, members: list[Member], group: str, member_id: str, request: Any, response: Any) -> None:
        known = next((each for each in members if (each.group, each.member_id) == (group, member_id)), None)
        if response.error_code != ErrorCode.NONE or response.member_epoch < 0:
            if known is not None and response.error_code != ErrorCode.INVALID_REQUEST:
                members.remove(known)
        elif known is not None:
            known.epoch = response.member_epoch
        else:
            _keep(members, Member(group, member_id, response.member_epoch))

    def _join(self, request: Any, response: Any) -> None:
        member_id = response.member_id
        known = next((m for m in self.classic if (m.group, m.member_id) == (request.group_id, member_id)), None)
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            epoch, leader = response.generation_id, response.leader == member_id
            if known is None:
                _keep(self.classic, Member(request.group_id, member_id, epoch, leader))
            else:
                known.epoch, known.leader = epoch, leader
        elif known is not None:
            self.classic.remove(known)

    def _classic_answer(self, request: Any, response: Any) -> None:
        if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            gone = (request.group_id, request.member_id)
            self.classic = [each for each in self.classic if (each.group, each.member_id) != gone]

    def _init_producer(self, request: Any, response: Any) -> None:
        if response.error_code != ErrorCode.NONE:
            return
        producer = Producer(response.producer_id, response.producer_epoch)
        if request.transactional_id is None:
            _keep(self.producers, producer)
        elif request.transactional_id in TRANSACTIONAL_IDS:
            self.transactions[request.transactional_id] = producer

    def _end_txn(self, request: Any, response: Any) -> None:
        producer = self.transactions.get(request.transactional_id)
        if producer is not None and response.error_code == ErrorCode.NONE and response.producer_id >= 0:
            if response.producer_id != producer.producer_id or response.producer_epoch != producer.epoch:
                producer.sequences.clear()
            producer.producer_id, producer.epoch = response.producer_id, response.producer_epoch

    def _share_answer(self, request: Any, response: Any) -> None:
        key = (self.connection, request.group_id or "", request.member_id or "")
        if response.error_code != ErrorCode.NONE:
            self.share_sessions.pop(key, None)
            return
        epoch = request.share_session_epoch
        if epoch < 0:
            self.share_sessions.pop(key, None)
        else:
            self.share_sessions[key] = 1 if epoch == 2**31 - 1 else epoch + 1
        member = next((m for m in self.share if (m.group, m.member_id) == key[1:]), None)
        if member is None:
            return
        for topic in response.responses:
            for partition in topic.partitions:
                for each in getattr(partition, "acquired_records", None) or ():
                    place = (topic.topic_id, partition.partition_index)
                    _keep(self.acquired, Acquired(member, *place, each.first_offset, each.last_offset))

    def _fetch(self, request: Any, response: Any) -> None:
        if response.error_code != ErrorCode.NONE or not response.session_id:
            self.fetch_sessions.pop(self.connection, None)
        else:
            epoch = request.session_epoch + 1 if request.session_id == response.session_id else 1
            self.fetch_sessions[self.connection] = (response.session_id, epoch if 0 < epoch < 2**31 else 1)

    def _handshake(self, request: Any, response: Any) -> None:
        if response.error_code == ErrorCode.NONE and request.mechanism == "PLAIN":
            self.mechanisms[self.connection] = request.mechanism

    def _redrive(self, request: Any, response: Any) -> None:
        if response.error_code == ErrorCode.NONE:
            _keep(self.redrives, request.name)

    def _state(self, request: Any, response: Any) -> None:
        self.written_outside.add(request.group_id)

    def _metadata(self, request: Any, response: Any) -> None:
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and topic.name in TOPICS and topic.topic_id != ZERO_UUID:
                self.set_topic(topic.name, topic.topic_id, len(topic.partitions))


_LEARN: Final[dict[int, Callable[[Facts, Any, Any], None]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: Facts._share_heartbeat,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Facts._consumer_heartbeat,
    ApiKey.JOIN_GROUP: Facts._join,
    ApiKey.SYNC_GROUP: Facts._classic_answer,
    ApiKey.HEARTBEAT: Facts._classic_answer,
    ApiKey.INIT_PRODUCER_ID: Facts._init_producer,
    ApiKey.END_TXN: Facts._end_txn,
    ApiKey.SHARE_FETCH: Facts._share_answer,
    ApiKey.SHARE_ACKNOWLEDGE: Facts._share_answer,
    ApiKey.FETCH: Facts._fetch,
    ApiKey.METADATA: Facts._metadata,
    ApiKey.SASL_HANDSHAKE: Facts._handshake,
    ApiKey.START_REDRIVE: Facts._redrive,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: Facts._state,
    ApiKey.WRITE_SHARE_GROUP_STATE: Facts._state,
    ApiKey.DELETE_SHARE_GROUP_STATE: Facts._state,
}


def _keep(kept: list[Any], new: object) -> None:
    """Add to a list that keeps the newest few. Any: facts of every kind are in such lists."""
    kept.append(new)
    if len(kept) > MOST_KEPT:
        del kept[0]
