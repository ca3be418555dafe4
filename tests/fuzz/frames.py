"""The frames to send, chosen at random from what is known of the broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.protocol.api_keys import ApiKey, flexible_from
from shareq.protocol.primitives import ZERO_UUID, Message, Structure, UnencodableMessage
from tests.fuzz import facts as known
from tests.fuzz.bends import Frame, bend_frame, bend_piece, bend_value
from tests.fuzz.facts import Facts
from tests.fuzz.pieces import pieces_of
from tests.fuzz.requests import ValidRequests, known_request, weights

STRAIGHT: Final = 0.25  # of the frames are not bent: they keep the state moving
UPKEEP: Final = 0.15  # of the frames bring back what is missing
LARGEST: Final = 1_000_000  # bytes of a body: what is larger is about bytes, which tests of their own are
ROOM: Final = 4 * LARGEST  # what is surely too large is not written
TOO_LARGE: Final = bytes(LARGEST + 1)
BENDS: Final = (1, 1, 1, 1, 2, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Sent:
    """A frame as sent, size included. `request` is its unmutated origin."""

    api: ApiKey
    version: int
    data: bytes
    bends: tuple[str, ...]
    request: Message

    @property
    def has_odd_size(self) -> bool:
        """True if the frame's size is wrong, after which the connection is useless."""
        return len(self.data) < 4 or int.from_bytes(self.data[:4], "big", signed=True) != len(self.data) - 4

    def __str__(self) -> str:
        return f"{self.api.name} v{self.version}, {len(self.data)} bytes, {'; '.join(self.bends) or 'not bent'}"


_ON_TOPICS: Final = (
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
)


def _takes_away_what_all_share(api: ApiKey, body: bytes) -> bool:
    """Return True if the request concerns an internal topic.

    A client with all rights may delete these, and with them the neighbour's state.
    """
    return api in _ON_TOPICS and any(name.encode() in body for name in INTERNAL_TOPICS)


def room_left(value: object, room: int) -> int:
    """Return roughly how many bytes of `room` a value leaves; 0 or less once it needs more.

    Repeated nested arrays would encode to gigabytes.
    """
    if isinstance(value, str | bytes):
        return room - len(value)
    if isinstance(value, list):
        parts: Iterable[object] = value
    elif isinstance(value, Structure):
        parts = (getattr(value, name) for name in value.FIELDS)
    else:
        return room - 1
    for part in parts:
        room = room_left(part, room - 1)
        if room <= 0:
            break
    return room


class Frames:
    def __init__(self, seed: int | str) -> None:
        self.rng = Random(seed)
        self.facts = Facts(self.rng)
        self._valid = ValidRequests(self.facts)
        table = weights()
        self._apis = list(table)
        self._weights = list(table.values())
        self._correlation = 0

    def next(self, connection: int, apis: Sequence[ApiKey] | None = None, *, gentle: bool = False) -> Sent:
        """Return the next frame for the connection of this number, of one of `apis` if given.

        `gentle`: at most its values are mutated, so that it mostly decodes and the connection and sessions survive.
        """
        self.facts.connection = connection
        upkeep = self._upkeep() if apis is None and self.rng.random() < UPKEEP else None
        if upkeep is not None:
            api, given = upkeep
            return self.made(api, HANDLERS[api].served.last, given, bends=0)
        api = self.rng.choice(apis) if apis else self.rng.choices(self._apis, self._weights)[0]
        served = HANDLERS[api].served
        version = self.rng.randint(served.first, served.last)
        if api is ApiKey.SASL_HANDSHAKE and self.rng.random() < 0.7:
            version = served.last  # tokens behind the first version have no header
        bends = 0 if self.rng.random() < STRAIGHT * (1 + gentle) else self.rng.choice(BENDS)
        return self.made(api, version, {}, bends=bends, gentle=gentle)

    def made(self, api: ApiKey, version: int, given: Mapping[str, Any], *, bends: int, gentle: bool = False) -> Sent:
        request = self._valid.request(api, version, given)
        layout = known_request(api).codec.layouts.by_version[version]
        body, done = request.encode(version), list[str]()
        where = ["v" if gentle else self.rng.choices("vpf", (45, 40, 15))[0] for _ in range(bends)]
        for _ in range(where.count("v")):
            done.append(bend_value(self.facts, request, layout))
        if done:
            try:
                bent = request.encode(version) if room_left(request, ROOM) > 0 else TOO_LARGE
            except UnencodableMessage:
                bent = TOO_LARGE
            if len(bent) <= LARGEST and not _takes_away_what_all_share(api, bent):
                body = bent
            else:
                done = ["given up"]
        if "p" in where:
            pieces = pieces_of(layout, body)
            done += [bend_piece(self.rng, pieces) for _ in range(where.count("p"))]
            body = b"".join(piece.data for piece in pieces)
        self._correlation += 1
        client_id = self.rng.choice(known.CLIENT_IDS).encode()
        frame = Frame(
            api,
            version,
            self._correlation,
            len(client_id).to_bytes(2, "big") + client_id,
            b"\0" if version >= flexible_from(api) else b"",
            body,
        )
        done += [bend_frame(self.rng, frame) for _ in range(where.count("f"))]
        payload = frame.payload()
        size = len(payload) if frame.size is None else frame.size
        return Sent(api, version, size.to_bytes(4, "big", signed=True) + payload, tuple(filter(None, done)), request)

    def _upkeep(self) -> tuple[ApiKey, dict[str, Any]] | None:
        """Return a request that restores something missing, if anything is.

        Any: values of fields, by name.
        """
        facts, rng = self.facts, self.rng
        for topic in facts.topics:
            if topic.topic_id == ZERO_UUID:
                made = {"Name": topic.name, "NumPartitions": known.TOPICS[topic.name], "ReplicationFactor": 1}
                if rng.random() < 0.5:
                    return ApiKey.METADATA, {"Topics": None}
                return ApiKey.CREATE_TOPICS, {
                    "Topics": [{**made, "Assignments": [], "Configs": []}],
                    "validateOnly": False,
                }
        wanted: list[tuple[ApiKey, dict[str, Any]]] = [(ApiKey.METADATA, {"Topics": None}), (ApiKey.PRODUCE, {})]
        if len(facts.share) < 3:
            member = {"GroupId": rng.choice(known.SHARE_GROUPS), "MemberId": f"s-{rng.randrange(4)}", "MemberEpoch": 0}
            wanted.append((ApiKey.SHARE_GROUP_HEARTBEAT, {**member, "SubscribedTopicNames": list(known.TOPICS)}))
        if len(facts.consumer) < 2:
            member = {
                "GroupId": rng.choice(known.CONSUMER_GROUPS),
                "MemberId": f"c-{rng.randrange(4)}",
                "MemberEpoch": 0,
            }
            joins = {"RebalanceTimeoutMs": 60_000, "SubscribedTopicNames": list(known.TOPICS), "TopicPartitions": []}
            wanted.append((ApiKey.CONSUMER_GROUP_HEARTBEAT, {**member, **joins, "SubscribedTopicRegex": None}))
        if facts.classic:
            wanted.append((rng.choice((ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT)), {}))
        else:
            wanted.append((ApiKey.JOIN_GROUP, {}))
        if len(facts.producers) < 2:
            wanted.append((ApiKey.INIT_PRODUCER_ID, {"TransactionalId": None}))
        if len(facts.transactions) < 2:
            name = rng.choice(known.TRANSACTIONAL_IDS)
            wanted.append((ApiKey.INIT_PRODUCER_ID, {"TransactionalId": name, "ProducerId": -1, "ProducerEpoch": -1}))
        else:
            wanted.append((ApiKey.ADD_PARTITIONS_TO_TXN, {"VerifyOnly": False}))
        wanted.append((rng.choice((ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.FETCH)), {}))
        return rng.choice(wanted)
