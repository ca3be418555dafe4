"""Sequences: the same seed and answers make the same steps, and all kinds of steps occur."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tests.differential.acks import MISTAKES, runs_of
from tests.differential.answers import Answer, PartitionAnswer
from tests.differential.generate import KINDS, Sequence
from tests.differential.steps import (
    PARTITIONS,
    STEPS,
    Acknowledge,
    Drop,
    Fetch,
    Pause,
    Produce,
    Restart,
    Step,
    reported,
    setup_of,
)


class Obliging:
    """Answers of a broker that delivers the next records of partition 0 and takes every valid acknowledgement."""

    def __init__(self, sequence: Sequence) -> None:
        self.view = sequence.view
        self.given = [0] * PARTITIONS
        self.expected: dict[int, int] = {}

    def answer(self, step: Step) -> Answer:
        if isinstance(step, Drop):
            for member in step.members:
                self.expected.pop(member, None)
        elif isinstance(step, Restart):
            self.expected.clear()
        if not isinstance(step, Fetch | Acknowledge) or step.unknown_topic:
            return Answer()
        error = self._session(step)
        if error:
            return Answer(error)
        taken: dict[int, int] = {}
        if isinstance(step, Fetch) and step.epoch >= 0 and step.max_records > 0:
            end = min(self.given[0] + step.max_records, self.view.log_end[0])
            taken = dict.fromkeys(range(self.given[0], end), 1)
            self.given[0] = end
        refused = 42 if "bad ack" in step.kind or step.epoch == -1 else 0
        rows = {partition: PartitionAnswer(ack_error=refused) for partition, _ in step.acks}
        return Answer(0, rows | ({0: PartitionAnswer(ack_error=refused, acquired=taken)} if taken else {}))

    def _session(self, step: Fetch | Acknowledge) -> int:
        if step.epoch == 0 and isinstance(step, Fetch):
            if step.acks:
                return 42
            self.expected[step.member] = 1
            return 0
        expected = self.expected.get(step.member)
        if expected is None:
            return 122
        if step.epoch == -1:
            del self.expected[step.member]
            return 0
        if step.epoch != expected:
            return 123
        self.expected[step.member] += 1
        return 0


def played(seed: int) -> list[Step]:
    sequence = Sequence(seed, delete_records=True, dead_letters=True)
    broker = Obliging(sequence)
    steps = []
    for _ in range(STEPS):
        step = sequence.next()
        steps.append(step)
        sequence.note(step, broker.answer(step))
    return steps


def test_a_seed_is_a_sequence() -> None:
    assert played(7) == played(7)
    assert played(7) != played(8)


def test_answers_shape_the_sequence() -> None:
    sequence = Sequence(7)
    steps = []
    for _ in range(STEPS):
        step = sequence.next()
        steps.append(step)
        sequence.note(step, Answer())
    assert not any(step.kind in {"acknowledge", "fetch with acks"} for step in steps)


def test_everything_happens() -> None:
    kinds = Counter(step.kind for seed in range(150) for step in played(seed))
    for mistake in MISTAKES:
        assert kinds[f"bad ack: {mistake}"] + kinds[f"bad ack with fetch: {mistake}"] >= 1, mistake
    wanted = set(
        """
        SIGTERM|SIGKILL|acknowledge|alter offsets|alter offsets of a live group|close by acknowledge|close by fetch
        connection drop|connections drop, all|delete records|delivery count limit|describe offsets|epoch 0, acknowledge
        epoch of no session, fetch|fetch|fetch with acks|fetch, forgetting|fetch, shared budget|heartbeat, leave
        fetch, unknown partition|heartbeat, ahead|locks run out|open|open with acks|produce|read state|record locks
        renew|renew by fetch|renewals|reopen|short locks|unknown acquire mode|unknown topic|wrong epoch, acknowledge
        wrong epoch, fetch|wrong group config|dead-letter queue|no dead-letter queue|reject|release
        """.strip()
        .replace("\n        ", "|")
        .split("|")
    )
    assert wanted <= kinds.keys(), wanted - kinds.keys()


def test_where_brokers_have_no_dead_letters_nothing_is_said_of_them() -> None:
    having = [seed for seed in range(100) if setup_of(seed).dead_letters]
    assert 25 <= len(having) <= 45
    for seed in range(100):
        without, steps = Sequence(seed, delete_records=True), Sequence(seed, delete_records=True, dead_letters=True)
        kinds = [without.next().kind for _ in range(STEPS)]
        assert not any("dead-letter" in kind for kind in kinds)
        if seed not in having:
            assert kinds == [steps.next().kind for _ in range(STEPS)]


def test_one_seed_of_ten_is_restarted_and_half_of_those_killed() -> None:
    setups = [setup_of(seed) for seed in range(200)]
    assert sum(setup.restart_at is not None for setup in setups) == 20
    assert sum(setup.kill and setup.restart_at is not None for setup in setups) == 10
    assert [isinstance(step, Restart) for step in played(3)].index(True) == setup_of(3).restart_at


def test_short_locks_are_waited_for_before_many_steps_have_gone_by() -> None:
    for seed in range(100):
        kinds = [step.kind for step in played(seed)]
        for at, kind in enumerate(kinds):
            following = kinds[at : at + 8]
            if kind == "short locks" and len(following) == 8 and not {"SIGTERM", "SIGKILL"} & set(following):
                assert "locks run out" in following, kinds[at:]


def test_a_group_without_members_only_has_offsets_altered_when_nobody_is_connected() -> None:
    """While a member is connected, Apache Kafka overwrites altered offsets from its memory."""
    for seed in range(100):
        kinds = [step.kind for step in played(seed)]
        for before, kind in pairwise(kinds):
            assert kind != "alter offsets" or before == "connections drop, all"


def test_a_sequence_begins_again_on_fresh_logs() -> None:
    sequence = Sequence(7)
    sequence.note(Produce("produce", 0, (5,)), Answer())
    before = sequence.view.log_end[0]
    sequence.begin_again()
    assert sequence.view.log_end[0] == before - 5 == sum(sequence.setup.first_batches[0])


def test_a_step_is_reported_without_what_is_as_usual() -> None:
    assert reported(Fetch("fetch", 1, 4, partitions=(0,))) == "Fetch[fetch](member=1, epoch=4, partitions=(0,))"
    assert reported(Pause("locks run out", 5)) == "Pause[locks run out](ms=5)"


def test_runs_of_offsets() -> None:
    assert runs_of([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]
    assert runs_of([]) == []


def test_kinds_have_weights() -> None:
    assert all(weight > 0 for weight in KINDS.values())
