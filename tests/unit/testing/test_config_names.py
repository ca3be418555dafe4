from __future__ import annotations

import pytest

from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.keys.known_names import KNOWN
from shareq.testing import Broker, BrokerFailed, KafkaContainer


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num.partitons", "; did you mean num.partitions?"),
        ("group.share.record.lock.duration", "; did you mean group.share.record.lock.duration.ms?"),
        ("Num.Partitions", "; did you mean num.partitions?"),
        ("num.io.thread", "; did you mean num.io.threads?"),
        ("log.retention.milliseconds", ""),
        ("", ""),
    ],
)
def test_a_property_that_there_is_not_is_refused_before_anything_starts(name: str, hint: str) -> None:
    for make in (Broker, KafkaContainer):
        with pytest.raises(BrokerFailed) as refused:
            make(config={"num.partitions": "1", name: "3"})
        assert str(refused.value) == f"did not start: unknown property {name}{hint}"


def test_properties_without_effect_are_taken_as_kafka_takes_them() -> None:
    Broker(config=dict.fromkeys([*BROKER_KEYS.names(), *KNOWN, "listener.name.inside.ssl.keystore.type"], "x"))


def test_a_feature_that_there_is_not_is_refused_with_those_there_are() -> None:
    broker = Broker(mode="thread", features={"share.versio": 1})
    with (
        pytest.raises(
            BrokerFailed,
            match=r"share\.versio: there are only the features .*, share\.version, shareq\.share\.transactions$",
        ),
        broker,
    ):
        pass
