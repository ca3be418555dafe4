"""The options with which brokers of Apache Kafka are started."""

from __future__ import annotations

import pytest

from devtools.kafka.apache_kafka import without_share_groups


@pytest.mark.parametrize(("version", "has_them"), [("3.9.1", False), ("4.0", False), ("4.1", True), ("4.4", True)])
def test_share_groups_are_switched_off_where_a_release_has_them(version: str, has_them: bool) -> None:
    """A release that does not know the feature refuses it."""
    assert without_share_groups(version) == (("--feature", "share.version=0") if has_them else ())
