"""The lines of `metadata.journal`, and the digest of a state."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.digest import apply_and_digest, digest_of
from shareq.broker.data_folder.journal_format import format_commit, format_journal, parse_journal
from shareq.broker.metadata.changes import (
    DropAcl,
    DropTopic,
    ForgetTopic,
    MetaChange,
    MetaState,
    PutAcl,
    PutConfig,
    PutDeleted,
    PutFeature,
    PutMeta,
    PutQuota,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.protocol.records.checksum import crc32c

names = st.text(st.sampled_from("ab\\\t\n\r ö\x00.n"), max_size=4)
ids = st.integers(0, 3).map(lambda number: bytes([number]) * 16)
topics = st.builds(TopicRow, names, ids, st.integers(1, 9), st.booleans())
resources = st.builds(ResourceName, st.sampled_from(("topic", "group", "broker")), names)
acls = st.builds(Acl, st.integers(2, 5), names, st.integers(3, 4), names, names, st.integers(2, 9), st.integers(2, 3))
users = st.builds(CredentialKey, names, st.sampled_from(("SCRAM-SHA-256", "SCRAM-SHA-512")))
credentials = st.builds(ScramCredential, st.binary(max_size=4), st.binary(max_size=4), st.binary(), st.integers(1, 9))
entities = st.builds(QuotaEntity, *[st.none() | names] * 3)
changes: st.SearchStrategy[MetaChange] = st.one_of(
    st.builds(PutTopic, topics),
    st.builds(DropTopic, names),
    st.builds(PutDeleted, topics),
    st.builds(ForgetTopic, ids),
    st.builds(PutConfig, resources, names, st.none() | names),
    st.builds(PutFeature, names, st.integers(0, 9)),
    st.builds(PutMeta, names, names),
    st.builds(PutAcl, acls),
    st.builds(DropAcl, acls),
    st.builds(PutScram, users, st.none() | credentials),
    st.builds(PutQuota, entities, names, st.none() | st.floats(min_value=0, exclude_min=True)),
)
histories = st.lists(st.lists(changes, max_size=5), max_size=8)


def written(history: Sequence[Sequence[MetaChange]]) -> tuple[bytes, list[MetaState]]:
    """Return a journal of these commits and the state after each; the first one sets the cluster id."""
    state = MetaState()
    state.apply(PutMeta(CLUSTER_ID, "c"))
    digest = digest_of(state)
    data = format_journal("c", state, 1, digest)
    states = [state.copy()]
    for number, commit in enumerate(history, start=2):
        digest = apply_and_digest(state, commit, digest)
        data += format_commit(commit, number, digest)
        states.append(state.copy())
    return data, states


@given(histories)
def test_a_journal_says_what_was_committed(history: list[list[MetaChange]]) -> None:
    data, states = written(history)
    journal = parse_journal(data)
    assert (journal.cluster_id, journal.state, journal.sequence) == ("c", states[-1], len(states))
    assert (journal.cut_off, journal.damage, journal.newest) == (False, "", len(states))
    assert journal.digest == digest_of(states[-1])


@given(histories)
def test_a_state_is_made_of_its_rows(history: list[list[MetaChange]]) -> None:
    _data, states = written(history)
    again = MetaState()
    assert apply_and_digest(again, states[-1].rows(), 0) == digest_of(states[-1])
    assert again == states[-1]


@given(histories, st.data())
def test_a_journal_that_was_cut_off_says_what_was_committed_before(
    history: list[list[MetaChange]], data: st.DataObject
) -> None:
    whole, states = written(history)
    start = len(written([])[0])
    cut = data.draw(st.integers(start, len(whole)))
    journal = parse_journal(whole[:cut])
    assert journal.state == states[journal.sequence - 1]
    assert journal.damage == ""
    ends = [len(written(history[:count])[0]) for count in range(len(history) + 1)]
    assert journal.sequence == sum(end <= cut for end in ends)
    assert journal.cut_off == (cut not in ends)


@given(histories, st.data())
def test_no_damage_is_taken_for_something_that_was_committed(
    history: list[list[MetaChange]], data: st.DataObject
) -> None:
    whole, states = written(history)
    damaged = bytearray(whole)
    damage = data.draw(st.sampled_from((_flip, _zero)))
    damage(damaged, data.draw(st.integers(0, len(whole) - 1)))
    try:
        journal = parse_journal(bytes(damaged))
    except ValueError:
        return
    if bytes(damaged) == whole:
        return
    assert journal.sequence < len(states)
    assert journal.state == (states[journal.sequence - 1] if journal.sequence else MetaState())
    assert journal.cut_off
    if journal.damage:
        assert journal.newest > journal.sequence


def _flip(content: bytearray, position: int) -> None:
    content[position] ^= 4


def _zero(content: bytearray, position: int) -> None:
    content[position : position + 64] = bytes(len(content[position : position + 64]))


@given(histories, changes)
def test_states_that_differ_have_other_digests(history: list[list[MetaChange]], change: MetaChange) -> None:
    _data, states = written(history)
    state = states[-1].copy()
    state.apply(change)
    assert (digest_of(state) == digest_of(states[-1])) == (state == states[-1])


def test_values_that_were_swapped_have_another_digest() -> None:
    def digest(first: str, second: str) -> int:
        state = MetaState()
        for name, value in (("a", first), ("b", second)):
            state.apply(PutConfig(ResourceName("topic", name), "retention.ms", value))
        return digest_of(state)

    values = [str(number) for number in range(60)]
    for value in values:
        for other in values:
            assert (digest(value, other) == digest(other, value)) == (value == other)


def test_what_a_later_release_writes_is_no_guess() -> None:
    data, _ = written([])
    with pytest.raises(ValueError, match="version 2"):
        parse_journal(_line(b"journal\t2\tc"))
    with pytest.raises(ValueError, match="empty"):
        parse_journal(b"")
    journal = parse_journal(data + _line(b"quota\ta\t1") + format_commit([], 2, 0))
    assert (journal.sequence, journal.newest) == (1, 2)
    assert "line" in journal.damage


def _line(body: bytes) -> bytes:
    return b"%08x\t%b\n" % (crc32c(body), body)
