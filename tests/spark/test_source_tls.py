"""The source on every kind of listener, as in the matrix of all clients. A wrong certificate is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devtools.clients.admin import create_topic, produce, read_from_start
from devtools.kafka.certificates import why_unavailable
from tests.interop.support.broker_under_test import Kind
from tests.interop.support.clients.commands import java_security
from tests.interop.support.security_matrix import SPARK, WAYS, Cells, Way, passed, update
from tests.interop.support.tls_broker import TlsBroker, tls_broker
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
    stream = ShareStream(spark, broker.bootstrap(listener), unique("topic"), unique("group"), folder)
    create_topic(broker.plain, stream.topic)
    read_from_start(broker.plain, stream.group)
    produce(broker.plain, stream.topic, ((0, b"%d" % number) for number in range(10)))
    return stream


def options(broker: TlsBroker, way: Way) -> dict[str, str]:
    place: Any = way.place(broker)
    return {f"kafka.{name}": value for name, value in java_security(place["login"], place["tls"]).items()}


@pytest.fixture(scope="module")
def cells(request: pytest.FixtureRequest, broker_kind: Kind) -> Iterator[Cells]:
    """Collect the outcomes, and write them into the document at the end if an option asks for it."""
    seen: Cells = {}
    yield seen
    if request.config.getoption("--update-security-matrix"):
        update(broker_kind, seen)


OFTEN = ("SSL, client certificate", "SASL_SSL, SCRAM-SHA-512")


@pytest.mark.parametrize(
    "row", [row if row in OFTEN else pytest.param(row, marks=pytest.mark.thorough) for row in WAYS]
)
def test_reading(
    spark: SparkSession, broker: TlsBroker, cells: Cells, unique: Callable[[str], str], tmp_path: Path, row: str
) -> None:
    cells[row, SPARK] = "✗"
    way = WAYS[row]
    stream = stream_of(spark, broker, way.listener, unique, tmp_path)
    (batch,) = stream.drain(stream.load(**options(broker, way)))
    assert len(batch.rows) == 10
    cells[row, SPARK] = passed(SPARK, row)


WRONG = {
    "stranger": ("MUTUAL", r"ended TLS: |closed the connection"),
    "authority": ("OPEN", "its certificate is not accepted: unable to get local issuer certificate"),
    "name": ("ELSEWHERE", "its certificate is not accepted: Hostname mismatch"),
}
"""The wrong settings: the source's or the broker's certificate is of another authority, or the broker's is of another
host.
"""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_certificate_is_refused(
    spark: SparkSession, broker: TlsBroker, unique: Callable[[str], str], tmp_path: Path, what: str
) -> None:
    listener, error = WRONG[what]
    pki = broker.pki
    stream = stream_of(spark, broker, listener, unique, tmp_path)
    tls = pki.tls(pki.stranger if what == "stranger" else None, pki.other if what == "authority" else pki.authority)
    with pytest.raises(Exception, match=error):
        stream.drain(stream.load(**{f"kafka.{name}": value for name, value in java_security(None, tls).items()}))
