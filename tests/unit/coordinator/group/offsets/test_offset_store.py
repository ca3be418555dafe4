"""Offsets inside and outside transactions, compared with a model that keeps every record."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.group.offsets.offset import CommittedOffset
from shareq.coordinator.group.offsets.store import OffsetStore

G, T = "g", "t"


def at(record_offset: int, offset: int = 0) -> CommittedOffset:
    return CommittedOffset(offset, record_offset=record_offset)


def test_a_transaction_shows_its_offsets_when_it_is_committed() -> None:
    store = OffsetStore()
    store.put(G, T, 0, at(1))
    store.put(G, T, 0, at(2), producer_id=7)
    store.put(G, T, 1, at(3), producer_id=7)
    assert store.of(G) == {T: {0: at(1)}}
    assert set(store.pending(G)) == {(T, 0), (T, 1)}
    store.end_transaction(7, commit=True)
    assert store.of(G) == {T: {0: at(2), 1: at(3)}}
    assert not store.pending(G)


def test_an_aborted_transaction_leaves_nothing() -> None:
    store = OffsetStore()
    store.put(G, T, 0, at(1), producer_id=7)
    store.end_transaction(7, commit=False)
    assert (store.of(G), set(store.pending(G))) == ({}, set())


def test_a_commit_outside_the_transaction_that_stands_behind_it_counts() -> None:
    """The later of the two records in the log counts, as in Apache Kafka, so that compaction changes nothing."""
    store = OffsetStore()
    store.put(G, T, 0, at(1), producer_id=7)
    store.put(G, T, 0, at(2))
    store.end_transaction(7, commit=True)
    assert store.get(G, T, 0) == at(2)


def test_a_partition_is_pending_until_the_last_transaction_has_ended() -> None:
    store = OffsetStore()
    store.put(G, T, 0, at(1), producer_id=7)
    store.put(G, T, 0, at(2), producer_id=8)
    store.end_transaction(7, commit=True)
    assert set(store.pending(G)) == {(T, 0)}
    store.end_transaction(8, commit=False)
    assert (store.get(G, T, 0), set(store.pending(G))) == (at(1), set())


def test_a_tombstone_takes_what_is_pending_along() -> None:
    store = OffsetStore()
    store.put(G, T, 0, at(1), producer_id=7)
    store.put(G, T, 1, at(2), producer_id=7)
    store.remove(G, T, 0)
    store.end_transaction(7, commit=True)
    assert store.of(G) == {T: {1: at(2)}}


def test_what_is_known_of_a_group_stands_there_once() -> None:
    store = OffsetStore()
    store.put(G, T, 0, at(1))
    store.put(G, T, 0, at(2), producer_id=7)
    store.put(G, T, 1, at(3), producer_id=7)
    assert sorted(store.known(G)) == [(T, 0), (T, 1)]
    assert list(store.known("other")) == []
    assert sorted(store.all()) == [(G, T, 0, at(1)), (G, T, 0, at(2)), (G, T, 1, at(3))]


def test_the_end_of_a_transaction_without_offsets() -> None:
    store = OffsetStore()
    store.end_transaction(7, commit=True)
    assert list(store.all()) == []


_WHERE = st.tuples(st.sampled_from("gh"), st.sampled_from("tu"), st.integers(0, 1))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _WHERE, st.sampled_from([-1, 7, 8])),
        st.tuples(st.just("remove"), _WHERE, st.just(0)),
        st.tuples(st.just("end"), st.sampled_from([7, 8]), st.booleans()),
    ),
    max_size=40,
)


@given(_STEPS)
def test_any_history(steps: list[tuple[str, object, object]]) -> None:
    """The model keeps all records without a tombstone and evaluates them on request."""
    store = OffsetStore()
    plain: dict[object, int] = {}
    open_: dict[tuple[object, object], int] = {}
    for number, (what, where, whose) in enumerate(steps):
        if what == "put":
            group, topic, partition = where  # type: ignore[misc]
            store.put(group, topic, partition, at(number), whose)  # type: ignore[has-type, arg-type]
            if whose == -1:
                plain[where] = number
            else:
                open_[where, whose] = number
        elif what == "remove":
            store.remove(*where)  # type: ignore[misc]
            plain.pop(where, None)
            open_ = {key: value for key, value in open_.items() if key[0] != where}
        else:
            store.end_transaction(where, commit=bool(whose))  # type: ignore[arg-type]
            for key in [key for key in open_ if key[1] == where]:
                value = open_.pop(key)
                if whose:
                    plain[key[0]] = max(plain.get(key[0], -1), value)
    found = {
        (group, topic, partition): committed.record_offset
        for group in "gh"
        for topic, partitions in store.of(group).items()
        for partition, committed in partitions.items()
    }
    assert found == plain
    assert {(group, *each) for group in "gh" for each in store.pending(group)} == {key[0] for key in open_}
    assert all(partitions for group in "gh" for partitions in store.of(group).values()), "no empty topics"
