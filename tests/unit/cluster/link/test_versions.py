"""A node's ApiVersions: its own, limited to the cluster's for forwarded requests."""

from __future__ import annotations

from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.handler_rows import VersionRange
from shareq.cluster.link.versions import cut_to, features_of_cluster, newest_of, served_by_all
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey


def answer(features: dict[str, int] | None = None, **versions: tuple[int, int]) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[ApiVersion(ApiKey[name.upper()], *both) for name, both in versions.items()],
        finalized_features=[FinalizedFeatureKey(name, level, level) for name, level in (features or {}).items()],
    )


def test_the_newest_version_is_one_that_both_sides_know() -> None:
    assert newest_of(ApiKey.PRODUCE, {ApiKey.PRODUCE: (0, 11)}) == 11
    assert newest_of(ApiKey.PRODUCE, {ApiKey.PRODUCE: (0, 99)}) == 13
    assert newest_of(ApiKey.PRODUCE, {ApiKey.PRODUCE: (90, 99)}) is None
    assert newest_of(ApiKey.PRODUCE, {ApiKey.FETCH: (0, 11)}) is None


def test_what_one_broker_lacks_the_cluster_lacks() -> None:
    """Only what both kinds of broker know is offered while a cluster is being upgraded."""
    served = served_by_all(
        [
            answer(features={"transaction.version": 2, "metadata.version": 25}, produce=(0, 12), fetch=(4, 17)),
            answer(
                features={"transaction.version": 1, "metadata.version": 21},
                produce=(3, 11),
                heartbeat=(0, 4),
                fetch=(1, 3),
            ),
        ]
    )
    assert served.versions == {ApiKey.PRODUCE: (3, 11)}
    assert features_of_cluster(served) == {"metadata.version": 21, "transaction.version": 1, "group.version": 0}
    assert served_by_all([]).versions == {}


def test_rows_that_are_forwarded_are_cut_and_others_are_not() -> None:
    served = served_by_all([answer(produce=(0, 11), list_offsets=(5, 20), share_fetch=(0, 1))])
    rows = {key: HANDLERS[key] for key in (ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.SHARE_FETCH, ApiKey.FETCH)}
    cut = cut_to(served, rows, {ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.FETCH})
    assert list(cut) == [ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.SHARE_FETCH]
    assert cut[ApiKey.PRODUCE].served == VersionRange(3, 11)
    assert cut[ApiKey.PRODUCE].advertised == VersionRange(0, 11)  # for librdkafka, which infers from it
    assert cut[ApiKey.LIST_OFFSETS].served == cut[ApiKey.LIST_OFFSETS].advertised == VersionRange(5, 11)
    assert cut[ApiKey.SHARE_FETCH] is HANDLERS[ApiKey.SHARE_FETCH]
