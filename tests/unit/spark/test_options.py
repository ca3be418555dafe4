"""Options: required, refused, misspelt, out of bounds; reported in one line, never with a secret."""

from __future__ import annotations

import pickle

import pytest

from shareq.spark.options import KNOWN, REFUSED, OptionsError, SourceOptions

NEEDED = {"kafka.bootstrap.servers": "one:9092,two:9093", "kafka.group.id": "sorting", "subscribe": "flights, trains"}


def parse(**options: object) -> SourceOptions:
    return SourceOptions.parse(NEEDED | {name.replace("__", "."): str(value) for name, value in options.items()})


def problem(**options: object) -> str:
    with pytest.raises(OptionsError) as error:
        parse(**options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_defaults() -> None:
    options = parse()
    assert options.topics == ("flights", "trains")
    assert options.group_id == "sorting"
    assert [str(server) for server in options.client.bootstrap_servers] == ["one:9092", "two:9093"]
    assert (options.ack, options.max_renew_ms, options.fail_on_data_loss) == ("commit", 600_000, True)
    assert options.max_records_per_trigger is None
    assert options.columns == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


def test_everything_set_in_lower_case_as_spark_hands_it_over() -> None:
    options = SourceOptions.parse(
        NEEDED
        | {
            "ack": "LOG",
            "maxrecordspertrigger": "5000",
            "minpartitions": "8",
            "maxrecordsperpartition": "100",
            "includeheaders": "true",
            "includedeliverycount": "True",
            "failondataloss": "false",
            "maxrenewms": "0",
            "maxdeliverycount": "4",
            "kafka.client.id": "spark",
            "kafka.request.timeout.ms": "5000",
        }
    )
    assert (options.ack, options.max_records_per_trigger, options.min_partitions) == ("log", 5000, 8)
    assert (options.max_records_per_partition, options.max_renew_ms, options.max_delivery_count) == (100, 0, 4)
    assert options.columns[-2:] == ("headers", "deliveryCount")
    assert not options.fail_on_data_loss
    assert (options.client.client_id, options.client.request_timeout_ms) == ("spark", 5000)


LONG, INT = 2**63 - 1, 2**31 - 1


@pytest.mark.parametrize(
    ("name", "field", "least", "most", "bounds"),
    [
        ("maxRecordsPerTrigger", "max_records_per_trigger", 1, LONG, "of at least 1"),
        ("maxOffsetsPerTrigger", "max_records_per_trigger", 1, LONG, "of at least 1"),
        ("minPartitions", "min_partitions", 1, INT, "of at least 1"),
        ("maxRecordsPerPartition", "max_records_per_partition", 1, LONG, "of at least 1"),
        ("maxRenewMs", "max_renew_ms", 0, LONG, "of at least 0"),
        ("maxDeliveryCount", "max_delivery_count", 2, 32_767, "from 2 to 32767"),
    ],
)
def test_numbers_at_their_bounds(name: str, field: str, least: int, most: int, bounds: str) -> None:
    for value in (least, most):
        assert getattr(parse(**{name: value}), field) == value
    for wrong in (least - 1, most + 1):
        assert f"must be a whole number {bounds}" in problem(**{name: wrong})


def test_a_pattern_in_the_place_of_topics() -> None:
    given = {name: value for name, value in NEEDED.items() if name != "subscribe"}
    options = SourceOptions.parse(given | {"subscribepattern": "flights-.*"})
    assert (options.topics, options.pattern) == ((), "flights-.*")
    assert parse().pattern is None


def test_sparks_own_name_of_the_limit() -> None:
    assert parse(maxOffsetsPerTrigger=10).max_records_per_trigger == 10
    assert parse(maxOffsetsPerTrigger=10, maxRecordsPerTrigger=10).max_records_per_trigger == 10
    assert "maxRecordsPerTrigger=9 and maxOffsetsPerTrigger=10" in problem(
        maxOffsetsPerTrigger=10, maxRecordsPerTrigger=9
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ack": "always"}, "ack='always': must be commit or log"),
        ({"maxRecordsPerTrigger": 0}, "maxRecordsPerTrigger='0': must be a whole number of at least 1"),
        ({"minPartitions": "many"}, "minPartitions='many': must be a whole number of at least 1"),
        ({"includeHeaders": "yes"}, "includeHeaders='yes': must be true or false"),
        ({"maxRenewMs": -1}, "maxRenewMs='-1': must be a whole number of at least 0"),
        ({"maxDeliveryCount": 1}, "maxDeliveryCount='1': must be a whole number from 2 to 32767"),
        ({"subscribe": " , "}, "subscribe=' , ': must name a topic"),
        ({"subscribePattern": "a.*"}, "subscribe and subscribePattern are given: one of them says which"),
        ({"subscribePattern": "a["}, "subscribePattern='a[': must be a regular expression: unterminated"),
        ({"kafka__group__id": ""}, "kafka.group.id='': must not be empty"),
        ({"kafka__bootstrap__servers": "nowhere"}, "kafka.bootstrap.servers: 'nowhere'"),
        ({"maxRecordPerTrigger": 5}, "did you mean maxRecordsPerTrigger?"),
        ({"group.id": "sorting"}, "did you mean kafka.group.id?"),
        (
            {"colour": "red"},
            "colour is not an option of kafka-share; there are kafka.* and subscribe, subscribePattern,",
        ),
        ({"kafka__request__timeout": "1"}, "did you mean kafka.request.timeout.ms?"),
    ],
)
def test_a_bad_option_is_named_with_its_value_and_what_is_allowed(options: dict[str, object], text: str) -> None:
    assert text in problem(**options)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_options_are_named_as_documented_with_the_way_out(name: str) -> None:
    text = problem(**{name.lower(): "latest"})
    assert text == f"kafka-share: {name} is not an option here: {REFUSED[name]}"


def test_missing_options_and_all_the_other_problems_come_at_once() -> None:
    with pytest.raises(OptionsError) as error:
        SourceOptions.parse({"ack": "never", "assign": "{}"})
    text = str(error.value)
    assert text.startswith("kafka-share: 5 problems: ")
    for part in (
        "assign",
        "kafka.group.id must be given",
        "kafka.bootstrap.servers",
        "subscribe must be given",
        "ack=",
    ):
        assert part in text


def test_no_secret_is_shown() -> None:
    secret = "open-sesame"
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{secret}";'
    sasl = {"kafka__security__protocol": "SASL_PLAINTEXT", "kafka__sasl__mechanism": "PLAIN"}
    options = parse(**sasl, kafka__sasl__jaas__config=jaas)
    assert secret not in repr(options)
    assert secret in pickle.dumps(options).decode("latin-1")  # executors log in as well
    assert secret not in problem(**sasl, kafka__sasl__jaas__config=jaas[:-3])
    assert secret not in problem(**sasl, kafka__sasl__jaas__konfig=jaas)
    assert secret not in problem(**sasl, kafka__sasl__jaas__config=jaas, sasl_password=secret)


def test_options_can_be_pickled_and_compared() -> None:
    assert pickle.loads(pickle.dumps(parse(ack="log"))) == parse(ack="log")


def test_no_name_is_both_known_and_refused() -> None:
    assert not {name.lower() for name in KNOWN} & {name.lower() for name in REFUSED}
