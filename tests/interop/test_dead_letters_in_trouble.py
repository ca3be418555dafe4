"""Dead letters of clients without rights, refusing queues, odd sources, and a killed broker.

The expectations are those of Apache Kafka 4.4.0, as in `test_dead_letters.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from devtools.clients.requests import produce, produce_request
from devtools.clients.transactor import Transactor
from devtools.clients.wire import WireClient
from shareq.broker.security.acls import Acl
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.records.batch import Compression, RecordData, build_batch
from tests.interop.support.broker_under_test import BrokerUnderTest, Kind
from tests.interop.support.dead_letter_scenes import (
    AUTO_CREATE,
    BROKER,
    ENABLE,
    REJECTED,
    Letter,
    Make,
    Scene,
    rejected,
    scenes,
)
from tests.interop.support.guarded_broker import guarded_broker
from tests.interop.support.share_wire import ACCEPT, REJECT, RELEASE, Acquired, Member, described_lag, eventually
from tests.interop.test_share_rights import login

pytestmark = pytest.mark.interop

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000", "message.max.bytes": "3000000"}
COPY = "errors.deadletterqueue.copy.record.enable"
CODECS = [codec for codec in Compression if codec is not Compression.NONE]


@pytest.fixture
def scene(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Make]:
    with scenes(broker, unique) as make:
        yield make


# -- no right


class GuardedScene(Scene):
    """A scene set up by an administrator, whose member alice has no right to the queue."""

    user = "admin"

    def connect(self) -> WireClient:
        return self._stack.enter_context(login(self.broker.port, self.user))


def test_a_member_without_rights_to_the_queue_has_its_dead_there(broker_kind: Kind) -> None:
    users, supers = ["admin", "alice"], ["admin"]
    with guarded_broker(broker_kind, plain=users, super_users=supers) as broker, ExitStack() as stack:
        here = GuardedScene(stack, broker, "guarded")
        rights = [Acl(2, here.topic, 3, "User:alice", "*", 3, 3), Acl(3, here.group, 3, "User:alice", "*", 3, 3)]
        answer = here.client.call(CreateAclsRequest([AclCreation(*right) for right in rights]), 3, CreateAclsResponse)
        assert [row.error_code for row in answer.results] == [ErrorCode.NONE] * 2
        here.user = "alice"
        here.member = eventually(partial(joined, here))
        here.produce(b"a", b"b")
        here.take(2)
        here.end(0, 1, REJECT)
        here.settled()
        assert here.letters() == [(b"k", b"a", 0, 1, REJECTED), (b"k", b"b", 1, 1, REJECTED)]
        refused = produce(
            login(broker.port, "alice"), here.queue, bytes(build_batch([RecordData(b"k", b"v")], timestamp_ms=1))
        )
        assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


# -- the write fails


@pytest.mark.parametrize(("copies", "letters"), [("true", [(b"k", b"v", 0, 1, REJECTED)]), ("false", [])])
def test_a_compacted_queue_takes_letters_with_keys_alone(scene: Make, copies: str, letters: list[Letter]) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "cleanup.policy": "compact"})
    here.configure(**{COPY: copies})
    rejected(here)
    assert here.letters() == letters


def test_a_queue_whose_write_fails_takes_letters_again_when_it_works(scene: Make) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "100"})
    rejected(here)
    assert here.letters() == []
    here.set(2, here.queue, **{"max.message.bytes": "1000000"})
    rejected(here)
    assert here.letters() == [(b"k", b"v", 1, 1, REJECTED)]


# -- sources


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_compressed_batches_of_which_some_records_die(scene: Make, codec: Compression) -> None:
    here = scene()
    here.produce(*(b"%d" % number * 50 for number in range(6)), compression=codec)
    here.take(6)
    for offset in range(6):
        here.end(offset, offset, REJECT if offset % 2 else ACCEPT)
    here.settled()
    assert here.letters() == [(b"k", b"%d" % at * 50, at, 1, REJECTED) for at in (1, 3, 5)]


def test_a_compressed_batch_that_is_larger_than_the_queue_takes(scene: Make) -> None:
    here = scene()
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "1048588"})
    noise = random.Random(1)
    here.produce(*(noise.randbytes(700_000) for _ in range(2)), compression=Compression.GZIP)
    here.take(2)
    here.end(0, 1, REJECT)
    here.settled()
    assert here.letters() == [(None, None, at, 1, REJECTED) for at in range(2)]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4], ids=lambda codec: codec.name)
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "aborted"])
def test_records_of_a_transaction(scene: Make, codec: Compression, commits: bool) -> None:
    here = scene()
    transact(here, [b"a", b"b"], codec, commits=commits)
    here.take(2)
    here.end(0, 1, REJECT)
    eventually(lambda: len(here.records()) == 2 or None)
    assert here.letters() == [(b"k", b"a", 0, 1, REJECTED), (b"k", b"b", 1, 1, REJECTED)]


def test_a_marker_in_what_a_group_that_reads_committed_records_rejects(scene: Make) -> None:
    here = scene()
    here.configure(**{"share.isolation.level": "read_committed"})
    transact(here, [b"a", b"b"], Compression.NONE, commits=True)
    assert [(one.first, one.last) for one in here.take(3)] == [(0, 2)]
    here.end(0, 2, REJECT)
    here.settled()
    letters = here.letters()
    assert [letter[2] for letter in letters] == [0, 1, 2]
    assert len(letters[2][0] or b"") == 4, "the marker's own key"


# -- kills


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("source", ["plain", "compressed", "zstd", "transactional", "bare", "limit"])
def test_a_kill_loses_no_letter(scene: Make, source: str, after_s: float) -> None:
    """The broker is killed before, between or after 200 letters, each a batch of its own."""
    here, values = scene(), [b"%d" % number for number in range(200)]
    here.create(here.queue, {ENABLE: "true", "max.message.bytes": "300"})
    here.configure(**{COPY: str(source != "bare").lower()})
    if source == "transactional":
        transact(here, values, Compression.NONE, commits=True)
    elif source in {"compressed", "zstd"}:  # in batches that are not larger than what the queue takes
        for first in range(0, 200, 4):
            codec = Compression.ZSTD if source == "zstd" else Compression.GZIP
            here.produce(*values[first : first + 4], compression=codec)
    else:
        here.produce(*values)
    for kind in (RELEASE, RELEASE) if source == "limit" else (REJECT,):
        here.take(200)
        here.end(0, 199, kind)
    time.sleep(after_s)
    here.kill_and_wait(200)
    expected = {(at, (None, None) if source == "bare" else (b"k", value)) for at, value in enumerate(values)}
    assert {(letter[2], letter[:2]) for letter in here.letters()} == expected
    assert {letter[3] for letter in here.letters()} == {2 if source == "limit" else 1}


@pytest.mark.parametrize("after_s", [0.0, 0.2])
@pytest.mark.parametrize("trouble", ["missing", "not enabled", "prefix", "too small", "appears"])
def test_a_kill_while_a_queue_refuses_brings_no_record_back(scene: Make, trouble: str, after_s: float) -> None:
    """Dead records stay without letters, whether the kill comes before or after the refusal.

    If a queue appears before the next fetch, it receives the records still archiving.
    """
    here = scene()
    here.set(BROKER, "", **{AUTO_CREATE: "false"})
    try:
        refusing(here, trouble)
        here.produce(*[b"%d" % number for number in range(100)])
        here.take(100)
        here.end(0, 99, REJECT)
        time.sleep(after_s)
        here.restart()
        if trouble == "appears":
            here.create(here.queue, {ENABLE: "true"})
        came: list[Acquired] = []

        def over() -> bool | None:
            answer = here.member.fetch()
            if answer.error_code:
                here.member.epoch = 0
            came.extend(here.member.acquired)
            return described_lag(here.client, here.group, here.topic) == 0 or None

        eventually(over, timeout_s=60, pause_s=0.2)
        assert came == []
        here.settled()
        letters = here.letters()
        assert [letter[1:3] for letter in letters] == [(b"%d" % letter[2], letter[2]) for letter in letters]
        assert trouble == "appears" or letters == []
    finally:
        here.set(BROKER, "", **{AUTO_CREATE: "true"})


# -- parts


def refusing(here: Scene, trouble: str) -> None:
    """Return the scene's queue, or another of its group, made to refuse letters."""
    if trouble == "not enabled":
        here.create(here.queue)
    elif trouble == "too small":
        here.create(here.queue, {ENABLE: "true", "max.message.bytes": "100"})
    elif trouble == "prefix":
        here.create(f"zz-{here.topic}", {ENABLE: "true"})
        here.configure(**{"errors.deadletterqueue.topic.name": f"zz-{here.topic}"})


def joined(here: Scene) -> Member | None:
    try:
        return here.join()
    except AssertionError:
        return None


def transact(here: Scene, values: list[bytes], codec: Compression, *, commits: bool) -> None:
    transactor = Transactor(here.client, transactional_id=f"tx-{here.topic}")
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactor.transactional_id])

    def begun() -> bool | None:
        here.client.call(find, 6, FindCoordinatorResponse)  # Apache Kafka makes its topic then
        return transactor.init() is ErrorCode.NONE or None

    eventually(begun)
    batch = build_batch(
        [RecordData(b"k", value) for value in values],
        timestamp_ms=int(time.time() * 1000),
        producer_id=transactor.producer_id,
        producer_epoch=transactor.epoch,
        base_sequence=0,
        compression=codec,
        transactional=True,
    )
    request = produce_request(bytes(batch), topic=here.topic, acks=-1, transactional_id=transactor.transactional_id)

    def sent() -> bool | None:
        answer = here.client.call(request, 12, ProduceResponse)
        return answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE or None

    eventually(sent)
    assert transactor.end(commit=commits) is ErrorCode.NONE
