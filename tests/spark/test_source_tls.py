"""Listeners with TLS: the source reads with a certificate, and with a login behind TLS; wrong ones are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from devtools.kafka.certificates import why_unavailable
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.guarded_broker import PASSWORD, SCRAM_MODULE
from tests.interop.support.tls_broker import USER, TlsBroker, tls_broker
from tests.spark.support.share_stream import ShareStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=str(why_unavailable()))


@pytest.fixture(scope="module")
def broker(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    with tls_broker(broker_kind, tmp_path_factory.mktemp("pki")) as broker:
        yield broker


def stream_of(
    spark: SparkSession, broker: TlsBroker, listener: str, unique: Callable[[str], str], folder: Path
) -> ShareStream:
    """Ten records, and a group that begins with them."""
    stream = ShareStream(spark, broker.bootstrap(listener), unique("topic"), unique("group"), folder)
    create_topic(broker.plain, stream.topic)
    read_from_start(broker.plain, stream.group)
    produce(broker.plain, stream.topic, ((0, b"%d" % number) for number in range(10)))
    return stream


def options(broker: TlsBroker, listener: str) -> dict[str, str]:
    """What lets the source in there."""
    trusted = {
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(broker.pki.authority.certificate),
    }
    if listener == "MUTUAL":
        own = {"kafka.ssl.keystore.type": "PEM", "kafka.ssl.keystore.location": str(broker.pki.client.both)}
        return {"kafka.security.protocol": "SSL", **trusted, **own}
    return {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{SCRAM_MODULE} required username="{USER}" password="{PASSWORD}";',
        **trusted,
    }


@pytest.mark.parametrize("listener", ["MUTUAL", "LOGIN"])
def test_reading_behind_tls(
    spark: SparkSession, broker: TlsBroker, unique: Callable[[str], str], tmp_path: Path, listener: str
) -> None:
    stream = stream_of(spark, broker, listener, unique, tmp_path)
    (batch,) = stream.drain(stream.load(**options(broker, listener)))
    assert len(batch.rows) == 10


def test_a_certificate_of_another_authority_is_refused(
    spark: SparkSession, broker: TlsBroker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    stream = stream_of(spark, broker, "MUTUAL", unique, tmp_path)
    wrong = {"kafka.ssl.keystore.location": str(broker.pki.stranger.both)}
    with pytest.raises(Exception, match=r"ended TLS: |closed the connection"):
        stream.drain(stream.load(**options(broker, "MUTUAL") | wrong))
