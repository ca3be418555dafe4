from __future__ import annotations

from xxhash import xxh3_64_digest

from shareq.coordinator.group.metadata_hash import metadata_hash
from tests.unit.coordinator.support import Topics, topic_id_of


def test_only_subscribed_topics_that_exist_count() -> None:
    topics = Topics(t=2, u=1)
    assert metadata_hash([], topics) == metadata_hash(["x"], topics) == 0
    assert metadata_hash(["t"], topics) == metadata_hash(["x", "t"], topics) != 0


def test_growth_creation_and_recreation_are_noticed() -> None:
    topics = Topics(t=2, u=1)
    hashes = [metadata_hash(["t", "u"], topics)]
    topics.grow("t", 3)
    hashes.append(metadata_hash(["t", "u"], topics))
    topics.delete("u")
    hashes.append(metadata_hash(["t", "u"], topics))
    topics.create("u", 1)
    hashes.append(metadata_hash(["t", "u"], topics))
    assert len(set(hashes)) == 4


def test_racks_are_noticed() -> None:
    """Changed racks raise the group epoch (KIP-932)."""
    hashes = set()
    for racks in ((), ("r1",), ("r10",), ("r", "1"), ("r1", "r10")):
        topics = Topics()
        topics.create("t", 2, racks=racks)
        hashes.add(metadata_hash(["t"], topics))
    assert len(hashes) == 5


def test_the_order_of_names_plays_no_part_and_the_number_is_a_signed_64_bit_one() -> None:
    topics = Topics(t=2, u=1)
    assert metadata_hash(["u", "t"], topics) == metadata_hash(["t", "u"], topics)
    assert all(-(2**63) <= metadata_hash([name], Topics(**{name: n})) < 2**63 for name in "abcdefgh" for n in (1, 2))


def test_the_hash_is_the_same_in_every_release() -> None:
    """A new hash would make every group compute a new target after an upgrade."""
    t = bytes([0]) + topic_id_of("t") + bytes.fromhex("00000001 74 00000002 00000000 00000000 00000001 00000000")
    u = bytes([0]) + topic_id_of("u") + bytes.fromhex("00000001 75 00000001 00000000 00000000")
    expected = xxh3_64_digest(xxh3_64_digest(t) + xxh3_64_digest(u))
    assert metadata_hash(["t", "u"], Topics(t=2, u=1)) == int.from_bytes(expected, "big", signed=True)
