from __future__ import annotations

from shareq.broker.quotas.clients import UNLIMITED, ClientQuotas
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.broker.quotas.rate import Windows

SECOND_NS = 1_000_000_000


def quotas_of(entity: QuotaEntity, **values: float) -> ClientQuotas:
    quotas = ClientQuotas()
    quotas.replace({entity: values})
    assert quotas.active
    return quotas


def test_without_quotas_nothing_is_active() -> None:
    quotas = ClientQuotas()
    assert not quotas.active
    quotas.replace({QuotaEntity(ip=DEFAULT): {"connection_creation_rate": 1.0}})
    assert not quotas.active


def test_clients_of_a_user_share_its_quota_and_other_users_do_not() -> None:
    quotas = quotas_of(QuotaEntity(DEFAULT), producer_byte_rate=100.0)
    assert quotas.account("alice", "a", 0).produced(1000, 0) == 0
    assert quotas.account("alice", "b", 0).produced(100, 0) == 1000
    assert quotas.account("bob", "a", 0).produced(1000, 0) == 0
    assert (quotas.throttles["producer_byte_rate"].number, quotas.throttles["producer_byte_rate"].total_ms) == (1, 1000)


def test_a_changed_quota_counts_from_the_next_request_on_with_what_was_used() -> None:
    quotas = quotas_of(QuotaEntity("alice"), producer_byte_rate=100.0)
    assert quotas.account("alice", "", 0).produced(1000, 0) == 0
    quotas.replace({QuotaEntity("alice"): {"producer_byte_rate": 50.0}})
    assert quotas.account("alice", "", 0).produced(0, 0) == 10_000
    quotas.replace({})
    assert not quotas.active


def test_a_fetch_over_the_quota_is_kept_back_and_not_counted() -> None:
    quotas = quotas_of(QuotaEntity("alice"), consumer_byte_rate=100.0)
    assert quotas.account("alice", "", 0).fetch_bound == 1000
    assert quotas.account("bob", "", 0).fetch_bound == UNLIMITED
    assert quotas.account("alice", "", 0).fetch(1000, 0) == (0, True)
    assert quotas.account("alice", "", 0).fetch(500, 0) == (5000, False)
    assert quotas.account("alice", "", 0).fetch(500, 0) == (5000, False)
    assert quotas.account("alice", "", 11_000).fetch(500, 11_000) == (0, True)


def test_a_batch_that_no_wait_makes_small_enough_goes_out() -> None:
    quotas = quotas_of(QuotaEntity("alice"), consumer_byte_rate=100.0)
    assert quotas.account("alice", "", 0).fetch(1001, 0) == (10, True)
    assert quotas.account("alice", "", 10).fetch(999, 10) == (9990, False)


def test_the_time_of_requests_is_paid_for_within_one_window() -> None:
    quotas = quotas_of(QuotaEntity(None, "app"), request_percentage=10.0)
    assert quotas.account("alice", "app", 0).used(SECOND_NS, 0) == 0  # 100% of a second is 10% of ten
    assert quotas.account("alice", "app", 0).used(SECOND_NS // 100, 0) == 100
    assert quotas.account("alice", "app", 0).used(SECOND_NS, 0) == 1000
    assert quotas.account("alice", "other", 0).used(SECOND_NS, 0) == 0


def test_mutations_are_refused_while_partitions_are_owed_or_else_paid_for() -> None:
    quotas = quotas_of(QuotaEntity("alice"), controller_mutation_rate=1.0)
    strict = quotas.mutations("alice", "", 0, strict=True)
    assert strict is not None
    assert [strict.may(10), strict.may(5), strict.may(1)] == [True, True, False]
    assert strict.throttle_ms == 4000
    lenient = quotas.mutations("alice", "", 1000, strict=False)
    assert lenient is not None
    assert [lenient.may(1), lenient.may(1)] == [True, True]
    assert lenient.throttle_ms == 5000
    assert quotas.mutations("bob", "", 0, strict=True) is None
    assert quotas.throttles["controller_mutation_rate"].number == 2


def test_names_that_clients_make_up_are_forgotten() -> None:
    quotas = ClientQuotas(Windows(2, 10))
    quotas.replace({QuotaEntity(None, DEFAULT): {"producer_byte_rate": 1e9}})
    for number in range(20_000):
        quotas.account("ANONYMOUS", f"made-up-{number}", number).produced(1, number)
    assert quotas.known <= 2_000


def test_what_is_used_is_known_by_whom_the_quota_was_set_for() -> None:
    """The use is kept by the quota's entity, not by client names: a default is one entity for all its clients."""
    quotas = ClientQuotas()
    everybody, alice = QuotaEntity(None, DEFAULT), QuotaEntity("alice")
    wanted = {everybody: {"producer_byte_rate": 100.0, "request_percentage": 5.0}, alice: {"producer_byte_rate": 10.0}}
    quotas.replace({**wanted, QuotaEntity(DEFAULT): {"controller_mutation_rate": 1.0}})
    for number in range(50):
        for now_ms in (number, 100 + number):
            quotas.account("bob", f"made-up-{number}", now_ms).produced(7, now_ms)
    for _ in range(2):
        quotas.account("alice", "app", 0).produced(200, 0)
    quotas.account("bob", "app", 0).used(SECOND_NS, 0)
    quotas.account("bob", "app", 0).used(SECOND_NS, 1)
    mutations = quotas.mutations("bob", "app", 0, strict=True)
    assert mutations is not None
    assert [mutations.may(12), mutations.may(1)] == [True, False]
    assert {name: each.amount for name, each in quotas.usages.items()} == {
        ("producer_byte_rate", everybody): 50 * 7,  # and as much that is pending
        ("producer_byte_rate", alice): 400,
        ("request_percentage", everybody): 200,  # one second of which is already counted: it is over the quota
        ("controller_mutation_rate", QuotaEntity(DEFAULT)): 12,
    }
    assert quotas.usages["producer_byte_rate", alice].throttles.total_ms == 10_000 + 30_000
    quotas.replace({alice: {"producer_byte_rate": 5.0}})
    assert {name: each.amount for name, each in quotas.usages.items()} == {("producer_byte_rate", alice): 400}
