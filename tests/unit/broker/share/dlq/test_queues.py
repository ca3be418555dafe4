"""Writing dead letters on fakes of its ports: retries, unreadable records, interruptions (KIP-1191)."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.append import OnDurable
from shareq.broker.share.dlq.broker_queues import warn_of_queue
from shareq.broker.share.dlq.queues import FETCHED_MS, LOOK_MS, DeadLetterQueues
from shareq.broker.share.dlq.rules import QueuePolicy, QueueTopic
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.records.batch import decode_records
from shareq.protocol.share import AcknowledgeType
from tests.support.fakes.share_leaders import in_memory
from tests.support.fakes.share_rig import ShareRig
from tests.support.worlds.dead_letters import header_of

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
LONG_MS = 60_000


class Topics:
    """A `QueueTopics`. `answers`: results of the next appends; `loses`: errors with which accepted appends end.

    `holds`: accepted appends end with `finish`. `asks`: topics to find or create are put into `asked`; otherwise the
    result comes at once, with `unknown` as the reason why a topic cannot be found.
    """

    retriable = frozenset({NOT_LEADER, ErrorCode.REQUEST_TIMED_OUT})

    def __init__(self) -> None:
        self.asks = False
        self.asked: list[Pending[QueueTopic | ApiError | None]] = []
        self.creating: list[Pending[ApiError]] = []
        self.unknown = NO_ERROR
        self.topic: QueueTopic | None = QueueTopic("dlq.t", 3, True, 1 << 20)
        self.answers: list[ErrorCode] = []
        self.loses: list[ErrorCode] = []
        self.creation = NO_ERROR
        self.created: list[str] = []
        self.appended: list[tuple[int, bytes]] = []
        self.most: int | None = None  # letters of a batch that is taken
        self.holds = False
        self.held: list[OnDurable] = []

    def policy(self) -> QueuePolicy:
        return QueuePolicy("dlq.", creates=True)

    def find(self, name: str) -> Pending[QueueTopic | ApiError | None]:
        if self.asks:
            self.asked.append(Pending())
            return self.asked[-1]
        return completed(self.unknown or self.known(name))

    def known(self, name: str) -> QueueTopic | None:
        return self.topic if self.topic is not None and self.topic.name == name else None

    def create(self, name: str) -> Pending[ApiError]:
        self.created.append(name)
        if self.asks:
            self.creating.append(Pending())
            return self.creating[-1]
        if not self.creation:
            self.topic = QueueTopic(name, 1, True, 1 << 20)
        return completed(self.creation)

    def append(self, name: str, partition: int, batch: bytearray, on_durable: OnDurable) -> ErrorCode:
        assert self.known(name) is not None
        error = self.answers.pop(0) if self.answers else ErrorCode.NONE
        if self.most is not None and len(decode_records(batch)) > self.most:
            error = ErrorCode.MESSAGE_TOO_LARGE
        if error:
            return error
        if self.holds:
            self.held.append(on_durable)
            return ErrorCode.NONE
        lost = self.loses.pop(0) if self.loses else ErrorCode.NONE
        if not lost:
            self.appended.append((partition, bytes(batch)))
        on_durable(lost)
        return ErrorCode.NONE


class Rig:
    """Partition 0 of `t` with four records, acquired by `m`."""

    def __init__(self, *, keeps: bool = False, copies: bool = True) -> None:
        self.rig = rig = ShareRig()
        self.topics = Topics()
        self.queues = DeadLetterQueues(rig.env, rig.settings, self.topics)
        rig.manager._dead_letters = self.queues
        rig.settings.share = ShareGroupSettings(
            record_lock_duration_ms=1_000_000,
            dead_letters=True,
            dead_letter_queue="dlq.t",
            copy_dead_records=copies,
            keep_dead_records=keeps,
        )
        for number in range(4):
            rig.source().fill(b"%d" % number)
        assert rig.acquire() == [(0, 3, 1)]

    def reject(self, first: int = 0, last: int = 3) -> None:
        assert self.rig.acknowledge(first, last, AcknowledgeType.REJECT).value is ErrorCode.NONE
        self.pass_time(0)

    def pass_time(self, ms: int) -> None:
        self.rig.clock.advance(ms)
        self.rig.clock.run_until_idle()

    def come(self, missing_from: int | None) -> None:
        self.rig.source().missing_from = missing_from
        self.rig.manager.on_high_watermark(self.rig.source())
        self.pass_time(0)

    def letters(self) -> list[tuple[int, bytes | None]]:
        return [
            (int(header_of(record, "__dlq.errors.offset") or b""), record.value)
            for _, batch in self.topics.appended
            for record in decode_records(batch)
        ]

    @property
    def start_offset(self) -> int:
        return self.rig.leader().core.start_offset

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Return the numbers of letters, failed appends, records without letters, and retries."""
        counters = self.queues.groups["g"]
        return counters.records, counters.failed_requests, counters.without_letter, counters.retries


ALL = [(0, b"0"), (1, b"1"), (2, b"2"), (3, b"3")]


def test_a_queue_that_another_broker_leads_is_tried_again() -> None:
    rig = Rig()
    rig.topics.answers = [NOT_LEADER] * 4
    rig.reject()
    assert (rig.letters(), rig.start_offset) == ([], 0)
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.start_offset) == (ALL, 4)
    assert rig.counts == (4, 4, 0, 4)


def test_after_five_tries_the_dead_are_archived_without_letters() -> None:
    rig = Rig()
    rig.topics.answers = [NOT_LEADER] * 5
    rig.reject()
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.start_offset) == ([], 4)
    assert rig.counts == (0, 5, 4, 4)


def test_tries_are_counted_from_the_last_success_on() -> None:
    rig = Rig()
    for first, last in ((0, 1), (2, 3)):
        rig.topics.answers = [NOT_LEADER] * 4
        rig.reject(first, last)
        rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.counts) == (ALL, (4, 8, 0, 8))


@pytest.mark.parametrize("keeps", [False, True])
def test_a_batch_that_is_lost_on_its_way_to_the_disk(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.topics.loses = [ErrorCode.KAFKA_STORAGE_ERROR]
    rig.reject()
    assert rig.start_offset == (0 if keeps else 4)
    rig.pass_time(LONG_MS)
    assert rig.start_offset == 4
    assert rig.letters() == (ALL if keeps else [])


@pytest.mark.parametrize("keeps", [False, True])
def test_a_queue_that_cannot_be_created(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.topics.topic, rig.topics.creation = None, ApiError(ErrorCode.POLICY_VIOLATION, "no")
    rig.reject()
    assert rig.topics.created == ["dlq.t"]
    assert rig.start_offset == (0 if keeps else 4)
    rig.topics.creation = NO_ERROR
    rig.pass_time(LONG_MS)
    assert rig.letters() == (ALL if keeps else [])


@pytest.mark.parametrize("keeps", [False, True])
def test_a_queue_that_takes_less_than_it_was_known_for_gets_smaller_batches(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.topics.most = 1
    rig.reject()
    assert (rig.letters(), rig.start_offset) == (ALL, 4)
    assert len(rig.topics.appended) == 4
    assert rig.counts == (4, 4, 0, 0)


# -- queues that others have to be asked for


def test_letters_wait_while_their_queue_is_asked_for_and_created() -> None:
    rig = Rig()
    rig.topics.asks = True
    rig.reject(2, 3)
    rig.reject(0, 1)
    rig.pass_time(LONG_MS)
    assert (len(rig.topics.asked), rig.queues.waiting(), rig.start_offset) == (1, {"g": 4}, 0)
    rig.topics.asked.pop().complete(None)
    rig.pass_time(LONG_MS)
    assert (rig.topics.created, rig.queues.waiting()) == (["dlq.t"], {"g": 4})
    rig.topics.creating.pop().complete(NO_ERROR)
    rig.topics.asks = False
    rig.topics.asked.pop().complete(rig.topics.topic)
    rig.pass_time(0)
    assert (sorted(rig.letters()), rig.start_offset, rig.counts) == (ALL, 4, (4, 0, 0, 0))


def test_a_queue_that_was_asked_for_and_is_not_the_groups_any_more() -> None:
    rig = Rig()
    rig.topics.asks = True
    rig.reject()
    rig.rig.settings.share = rig.rig.settings.share._replace(dead_letter_queue="dlq.other")
    rig.topics.asks = False
    rig.topics.topic = QueueTopic("dlq.other", 1, True, 1 << 20)
    rig.topics.asked.pop().complete(None)
    rig.pass_time(0)
    assert (rig.letters(), rig.topics.created) == (ALL, [])


@pytest.mark.parametrize("creating", [False, True])
def test_a_share_partition_that_moves_while_its_queue_is_asked_for_takes_its_dead_with_it(creating: bool) -> None:
    rig = Rig()
    rig.topics.asks = True
    rig.reject()
    if creating:
        rig.topics.asked.pop().complete(None)
    rig.rig.manager.fence_if_needed(rig.rig.leader(), NOT_LEADER)
    if creating:
        rig.topics.creating.pop().complete(ApiError(ErrorCode.POLICY_VIOLATION, "no"))
    else:
        rig.topics.asked.pop().complete(rig.topics.topic)
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.queues.waiting(), rig.queues.groups) == ([], {}, {})


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("creating", [False, True])
def test_a_cluster_that_cannot_be_asked_is_asked_again(creating: bool, keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    late = ApiError(ErrorCode.REQUEST_TIMED_OUT, "no broker answers")
    if creating:
        rig.topics.topic, rig.topics.creation = None, late
    else:
        rig.topics.unknown = late
    rig.reject()
    rig.pass_time(20_000)
    assert (rig.start_offset, rig.queues.waiting()) == (0, {"g": 4})
    assert "REQUEST_TIMED_OUT: no broker answers" in rig.queues.trouble(rig.rig.leader())
    rig.topics.creation = rig.topics.unknown = NO_ERROR
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.start_offset) == (ALL, 4)


def test_a_cluster_that_cannot_be_asked_for_half_a_minute_costs_the_letters() -> None:
    rig = Rig()
    rig.topics.unknown = ApiError(ErrorCode.REQUEST_TIMED_OUT)
    rig.reject()
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.start_offset, rig.counts) == ([], 4, (0, 0, 4, 4))


@pytest.mark.parametrize("keeps", [False, True])
def test_a_queue_that_may_not_be_asked_for_is_no_queue(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.topics.unknown = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    rig.reject()
    assert rig.start_offset == (0 if keeps else 4)
    rig.topics.unknown = NO_ERROR
    rig.pass_time(LONG_MS)
    assert rig.letters() == (ALL if keeps else [])


def test_a_closed_writer_asks_no_more() -> None:
    rig = Rig()
    rig.topics.asks = True
    rig.reject()
    rig.queues.close()
    rig.topics.asked.pop().complete(None)
    rig.pass_time(LONG_MS)
    assert (rig.topics.created, rig.topics.asked, rig.letters()) == ([], [], [])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ""),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "topic dlq.t cannot be found: TOPIC_AUTHORIZATION_FAILED: "),
    ],
)
def test_a_warning_of_a_queue_comes_with_what_is_known_of_it(
    error: ErrorCode, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    topics = Topics()
    topics.asks = True
    warn_of_queue("g", "dlq.t", topics)
    topics.asked.pop().complete(ApiError(error))
    assert [each.getMessage() for each in caplog.records] == (
        [f"share group g: dead letters will not be written: {says}"] if says else []
    )


# -- reading


def test_records_that_are_elsewhere_are_waited_for_and_then_done_without(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.rig.source().missing_from = 0
    rig.reject()
    rig.pass_time(FETCHED_MS - 1)
    assert (rig.letters(), rig.start_offset) == ([], 0)
    rig.pass_time(LOOK_MS)
    assert rig.letters() == [(offset, None) for offset in range(4)]
    assert (rig.counts, rig.queues.groups["g"].without_content) == ((4, 0, 0, 0), 4)
    assert caplog.records == []


def test_the_dead_of_a_group_that_keeps_them_wait_for_their_records_for_as_long_as_it_takes() -> None:
    rig = Rig(keeps=True)
    rig.rig.source().missing_from = 0
    rig.reject()
    rig.pass_time(10 * LONG_MS)
    assert (rig.letters(), rig.start_offset) == ([], 0)
    assert rig.queues.trouble(rig.rig.leader()) == "its records have to be fetched first"
    rig.come(None)
    assert (rig.letters(), rig.start_offset) == (ALL, 4)


@pytest.mark.parametrize("keeps", [False, True])
def test_records_that_come_are_copied_at_once(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.rig.source().missing_from = 0
    rig.reject()
    rig.come(2)
    assert rig.letters() == ALL[:2]
    rig.come(None)
    assert (rig.letters(), rig.counts) == (ALL, (4, 0, 0, 0))


def test_records_that_come_without_news_are_copied_within_a_second() -> None:
    """The leader of a removed state gets no notification."""
    rig = Rig()
    rig.rig.source().missing_from = 0
    rig.reject()
    rig.rig.source().missing_from = None
    rig.pass_time(LOOK_MS)
    assert rig.letters() == ALL


def test_news_of_other_records_cost_the_dead_none_of_their_time() -> None:
    rig = Rig()
    rig.rig.source().missing_from = 0
    rig.reject()
    for _ in range(100):
        rig.come(0)
        rig.pass_time(100)
    assert rig.letters() == []
    rig.come(None)
    assert rig.letters() == ALL


def test_the_time_for_records_begins_again_with_each_batch() -> None:
    rig = Rig()
    rig.rig.source().missing_from = 0
    rig.reject()
    for upto in (1, 2, 3, None):
        rig.pass_time(FETCHED_MS - LOOK_MS)
        rig.come(upto)
    assert rig.letters() == ALL


def test_news_of_records_bring_no_letter_to_a_queue_before_its_time() -> None:
    rig = Rig()
    rig.topics.answers = [NOT_LEADER]
    rig.reject()
    rig.come(None)
    assert (rig.letters(), rig.counts) == ([], (0, 1, 0, 1))
    rig.pass_time(LONG_MS)
    assert rig.letters() == ALL


@pytest.mark.parametrize("keeps", [False, True])
def test_a_log_that_fails(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.rig.source().refusal = ErrorCode.KAFKA_STORAGE_ERROR
    rig.reject()
    assert rig.start_offset == (0 if keeps else 4)
    rig.rig.source().refusal = ErrorCode.NONE
    rig.pass_time(LONG_MS)
    assert rig.letters() == (ALL if keeps else [(offset, None) for offset in range(4)])


@pytest.mark.parametrize("keeps", [False, True])
def test_damage_in_the_middle_of_a_range(keeps: bool) -> None:
    rig = Rig(keeps=keeps)
    rig.rig.source().contents.unreadable.append((1, 3))
    rig.reject()
    rig.pass_time(LONG_MS)
    assert rig.letters() == [(0, b"0"), (1, None), (2, None), (3, b"3" if keeps else None)]


def test_offsets_without_a_record_have_letters_as_well() -> None:
    rig = Rig()
    rig.rig.source().contents.batches.pop(2)
    rig.reject()
    assert rig.letters() == [(0, b"0"), (1, b"1"), (2, None), (3, b"3")]


def test_without_copies_nothing_is_read() -> None:
    rig = Rig(copies=False)
    asked = len(rig.rig.source().asked)
    rig.reject()
    assert len(rig.rig.source().asked) == asked
    assert rig.letters() == [(offset, None) for offset in range(4)]


# -- what is cut off


def test_more_dead_come_behind_those_that_are_being_written() -> None:
    rig = Rig()
    rig.topics.holds = True
    rig.reject(2, 3)
    rig.reject(0, 1)
    assert (len(rig.topics.held), rig.queues.waiting()) == (1, {"g": 4})
    rig.topics.holds = False
    rig.topics.held.pop()(ErrorCode.NONE)
    rig.pass_time(0)
    assert rig.letters() == ALL[:2]
    assert (rig.queues.waiting(), rig.start_offset) == ({}, 4)


def test_a_share_partition_that_is_led_elsewhere_takes_its_waiting_dead_with_it() -> None:
    """The state owes the letters, and the next leader reads it."""
    rig = Rig(keeps=True)
    rig.topics.answers = [NOT_LEADER]
    rig.reject()
    rig.rig.manager.fence_if_needed(rig.rig.leader(), NOT_LEADER)
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.queues.waiting()) == ([], {})


def test_letters_go_on_when_the_state_that_owes_them_is_removed() -> None:
    """No later leader would find the letters."""
    rig = Rig(keeps=True)
    rig.topics.answers = [NOT_LEADER]
    rig.reject()
    rig.rig.manager.state_replaced([rig.rig.key()])
    rig.pass_time(LONG_MS)
    assert (rig.letters(), rig.queues.waiting()) == (ALL, {})


def test_the_group_goes_when_its_waiting_dead_are_buried() -> None:
    rig = Rig(keeps=True)
    rig.topics.answers = [NOT_LEADER]
    rig.reject()
    rig.rig.manager.group_empty("g")
    assert in_memory(rig.rig) == [("g", 0)]
    rig.pass_time(LONG_MS)
    assert (rig.letters(), in_memory(rig.rig)) == (ALL, [])


def test_a_closed_writer_has_no_timer_and_hears_no_answer() -> None:
    rig = Rig(keeps=True)
    rig.topics.answers = [NOT_LEADER]
    rig.reject(0, 1)
    rig.queues.close()
    rig.pass_time(LONG_MS)
    assert rig.letters() == []
    other = Rig()
    other.topics.holds = True
    other.reject()
    other.queues.close()
    writes = len(other.rig.states.writes)
    other.topics.held.pop()(ErrorCode.NONE)
    assert len(other.rig.states.writes) == writes
