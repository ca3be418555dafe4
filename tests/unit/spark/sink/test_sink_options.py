"""Options of the sink: required, refused, misspelt, dependent on each other; one line each, never with a secret."""

from __future__ import annotations

import pickle

import pytest

from shareq.protocol.records.compression import Compression
from shareq.spark.option_reader import OptionsError
from shareq.spark.sink.options import KNOWN, REFUSED, SinkOptions

NEEDED = {"kafka.bootstrap.servers": "one:9092"}


def problem(*, streaming: bool = False, **options: object) -> str:
    with pytest.raises(OptionsError) as error:
        parse(streaming=streaming, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def parse(*, streaming: bool = False, **options: object) -> SinkOptions:
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    return SinkOptions.parse(NEEDED | given, streaming=streaming)


def test_defaults_and_everything_set_in_lower_case_as_spark_hands_it_over() -> None:
    options = parse()
    assert (options.topic, options.transactional, options.timeout_ms) == (None, True, 900_000)
    assert (options.app_id, options.version, options.compression) == (None, None, Compression.NONE)
    options = parse(
        topic="sorted",
        transactional="True",
        txnappid="nightly",
        txnversion="7",
        checkpointlocation="/tmp/c",
        kafka__compression__type="ZSTD",
        kafka__transaction__timeout__ms="5000",
        kafka__client__id="spark",
    )
    assert (options.topic, options.app_id, options.version) == ("sorted", "nightly", 7)
    assert (options.compression, options.timeout_ms, options.client.client_id) == (Compression.ZSTD, 5000, "spark")
    assert not parse(transactional="false").transactional
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": ""}, "topic='': must not be empty"),
        ({"transactional": "maybe"}, "transactional='maybe': must be true or false"),
        ({"txnAppId": "a b", "txnVersion": "1"}, "txnAppId='a b': must be up to 200 letters, digits,"),
        ({"txnAppId": "a", "txnVersion": "-1"}, "txnVersion='-1': must be a whole number of at least 0"),
        ({"txnVersion": "1"}, "txnVersion is given without txnAppId: both together name what is written once"),
        ({"txnAppId": "a", "txnVersion": "1", "transactional": "false"}, "txnAppId needs transactional=true"),
        ({"kafka__transaction__timeout__ms": "0"}, "kafka.transaction.timeout.ms='0': must be a whole number of"),
        ({"kafka__compression__type": "lz5"}, "'lz5': must be one of none, gzip, snappy, lz4, zstd"),
        ({"topics": "a"}, "topics is not an option of kafka-share; did you mean topic?"),
        ({"colour": "red"}, "there are kafka.* and topic, transactional, txnAppId, txnVersion, checkpointLocation"),
        ({"kafka__bootstrap__servers": "nowhere"}, "kafka.bootstrap.servers: 'nowhere'"),
    ],
)
def test_a_bad_option_is_named_with_its_value_and_what_is_allowed(options: dict[str, str], text: str) -> None:
    assert text in problem(streaming=False, **options)


def test_a_stream_has_its_own_versions() -> None:
    assert "txnAppId is for df.write: a streaming query has its id" in problem(
        streaming=True, txnAppId="a", txnVersion="1"
    )


@pytest.mark.parametrize("name", REFUSED)
def test_refused_options_are_named_as_documented_with_the_way_out(name: str) -> None:
    assert (
        problem(streaming=False, **{name.lower(): "x"}) == f"kafka-share: {name} is not an option here: {REFUSED[name]}"
    )


def test_no_name_is_both_known_and_refused_and_no_secret_is_shown() -> None:
    assert not {name.lower() for name in KNOWN} & {name.lower() for name in REFUSED}
    assert "open-sesame" not in problem(sasl_password="open-sesame")
