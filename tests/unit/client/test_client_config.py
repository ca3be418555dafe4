"""Properties named as in Kafka's Java client and librdkafka: accepted, refused, and never shown."""

from __future__ import annotations

import pickle

import pytest

from shareq.client.config import Address, ClientConfig
from shareq.client.errors import ConfigError
from shareq.client.security.config import SaslConfig

SECRET = "looking-glass"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SERVERS = {"bootstrap.servers": "one:9092, two:9093"}
SCRAM = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": f'{SCRAM_MODULE} required username="carol" password="{SECRET}";',
}


def config(**properties: str) -> ClientConfig:
    """Return a configuration from keyword arguments with underscores in place of dots."""
    return ClientConfig.from_properties(SERVERS | {key.replace("_", "."): value for key, value in properties.items()})


def refused(properties: dict[str, str], **more: str) -> str:
    with pytest.raises(ConfigError) as caught:
        ClientConfig.from_properties(SERVERS | properties | more)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_only_the_servers_are_needed() -> None:
    plain = config()
    assert plain.bootstrap_servers == (Address("one", 9092), Address("two", 9093))
    assert plain.security_protocol == "PLAINTEXT"
    assert (plain.request_timeout_ms, plain.default_api_timeout_ms, plain.check_crcs) == (30_000, 60_000, True)


def test_java_client_names_for_everything() -> None:
    given = config(
        client_id="me",
        client_rack="r1",
        request_timeout_ms="1",
        default_api_timeout_ms="2",
        socket_connection_setup_timeout_ms="3",
        retry_backoff_ms="4",
        retry_backoff_max_ms="5",
        reconnect_backoff_ms="6",
        reconnect_backoff_max_ms="7",
        metadata_max_age_ms="8",
        fetch_max_bytes="9",
        max_partition_fetch_bytes="10",
        receive_buffer_bytes="-1",
        send_buffer_bytes="11",
        check_crcs="false",
    )
    assert (given.client_id, given.client_rack, given.check_crcs) == ("me", "r1", False)
    assert (given.request_timeout_ms, given.default_api_timeout_ms, given.connection_setup_timeout_ms) == (1, 2, 3)
    assert (given.retry_backoff_ms, given.retry_backoff_max_ms) == (4, 5)
    assert (given.reconnect_backoff_ms, given.reconnect_backoff_max_ms, given.metadata_max_age_ms) == (6, 7, 8)
    assert (given.fetch_max_bytes, given.max_partition_fetch_bytes, given.send_buffer_bytes) == (9, 10, 11)


MOST = 2**31 - 1


@pytest.mark.parametrize(
    ("name", "field", "default", "least"),
    [
        ("request.timeout.ms", "request_timeout_ms", 30_000, 1),
        ("default.api.timeout.ms", "default_api_timeout_ms", 60_000, 1),
        ("socket.connection.setup.timeout.ms", "connection_setup_timeout_ms", 10_000, 1),
        ("retry.backoff.ms", "retry_backoff_ms", 100, 0),
        ("retry.backoff.max.ms", "retry_backoff_max_ms", 1_000, 0),
        ("reconnect.backoff.ms", "reconnect_backoff_ms", 50, 0),
        ("reconnect.backoff.max.ms", "reconnect_backoff_max_ms", 1_000, 0),
        ("metadata.max.age.ms", "metadata_max_age_ms", 300_000, 0),
        ("fetch.max.bytes", "fetch_max_bytes", 52_428_800, 1),
        ("max.partition.fetch.bytes", "max_partition_fetch_bytes", 52_428_800, 1),
        ("receive.message.max.bytes", "receive_message_max_bytes", 268_435_456, 1000),
        ("receive.buffer.bytes", "receive_buffer_bytes", -1, -1),
        ("send.buffer.bytes", "send_buffer_bytes", -1, -1),
    ],
)
def test_numbers_have_the_defaults_and_bounds_of_the_clients_they_come_from(
    name: str, field: str, default: int, least: int
) -> None:
    """The values are those of Apache Kafka 4.3.1's ProducerConfig and CommonClientConfigs, and of librdkafka."""
    room = {"fetch.max.bytes": "1"} if name == "receive.message.max.bytes" else {}
    most = MOST - 512 if name == "fetch.max.bytes" else MOST
    if name == "fetch.max.bytes":
        room = {"receive.message.max.bytes": str(MOST)}
    assert getattr(config(), field) == default
    for value in (least, most):
        given = ClientConfig.from_properties(SERVERS | room | {name: str(value)})
        assert getattr(given, field) == value
    for value in (least - 1, MOST + 1):
        assert refused({name: str(value), **room}).endswith(f"must be a whole number from {least} to {MOST}")


def test_an_answer_has_512_bytes_around_what_it_fetches() -> None:
    given = config(receive_message_max_bytes="2012", fetch_max_bytes="1500")
    assert (given.receive_message_max_bytes, given.fetch_max_bytes) == (2012, 1500)
    message = refused({"receive.message.max.bytes": "2011", "fetch.max.bytes": "1500"})
    assert message == "receive.message.max.bytes: must be at least 512 more than fetch.max.bytes"


@pytest.mark.parametrize("text", ["a:1", "a:65535"])
def test_ports_at_their_bounds(text: str) -> None:
    (address,) = ClientConfig.from_properties({"bootstrap.servers": text}).bootstrap_servers
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[::1]:9092", (Address("::1", 9092),)),
        ("::1:9092", (Address("::1", 9092),)),
        ("SASL_SSL://kafka.example:443", (Address("kafka.example", 443),)),
        ("a:1,,b:2,", (Address("a", 1), Address("b", 2))),
    ],
)
def test_addresses_as_java_reads_them(text: str, expected: tuple[Address, ...]) -> None:
    given = ClientConfig.from_properties({"bootstrap.servers": text})
    assert given.bootstrap_servers == expected


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert str(Address("::1", 9092)) == "[::1]:9092"


@pytest.mark.parametrize("text", ["", "host", "host:", "host:0", "host:65536", "a b:1", ","])
def test_bad_addresses(text: str) -> None:
    assert "bootstrap.servers" in refused({"bootstrap.servers": text})


def test_no_servers() -> None:
    with pytest.raises(ConfigError, match=r"^kafka\.bootstrap\.servers: must be given$"):
        ClientConfig.from_properties({}, prefix="kafka.")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("request.timeout.ms", "soon", "a whole number from 1 to 2147483647"),
        ("request.timeout.ms", "0", "a whole number from 1 to 2147483647"),
        ("check.crcs", "yes", "true or false"),
        ("security.protocol", "TLS", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_a_bad_value_is_shown_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    message = refused({name: value})
    assert message.startswith(f"{name}: {value!r}: must be ")
    assert message.endswith(allowed)


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "enable.auto.commit", "value.deserializer", "interceptor.classes", "group.id"]
)
def test_refused_properties_say_why(name: str) -> None:
    assert refused({name: "x"}).startswith(f"{name}: ")


def test_an_unknown_property_is_refused_without_its_value() -> None:
    """The name may be a misspelt secret's."""
    message = refused({"sasl.pasword": SECRET, **SCRAM})
    assert message == "sasl.pasword: is not a property of this client; did you mean sasl.password?"


def test_answers_must_have_room_for_a_fetch() -> None:
    assert refused({"receive.message.max.bytes": "2000", "fetch.max.bytes": "1500"}).endswith("fetch.max.bytes")


@pytest.mark.parametrize("quoted", [f'"{SECRET}"', SECRET, f"'{SECRET}'"])
def test_credentials_of_a_jaas_entry(quoted: str) -> None:
    given = ClientConfig.from_properties(
        SERVERS | SCRAM | {"sasl.jaas.config": f"{SCRAM_MODULE} required username=carol password={quoted};"}
    )
    assert given.sasl == SaslConfig("SCRAM-SHA-512", "carol", SECRET)
    assert given.security_protocol == "SASL_PLAINTEXT"


def test_credentials_by_librdkafka_names() -> None:
    names = {"sasl.mechanisms": "PLAIN", "sasl.username": "carol", "sasl.password": f" {SECRET} "}
    given = ClientConfig.from_properties(SERVERS | {"security.protocol": "sasl_ssl"} | names)
    assert given.sasl == SaslConfig("PLAIN", "carol", f" {SECRET} "), "blanks belong to a password"
    assert given.security_protocol == "SASL_SSL"


@pytest.mark.parametrize(
    "properties",
    [
        {"sasl.mechanism": "GSSAPI"},
        {"sasl.mechanism": "PLAIN"},
        {"sasl.jaas.config": SECRET},
        {"sasl.jaas.config": f'{SCRAM_MODULE} required password="{SECRET}";'},
        {"sasl.jaas.config": f'{SCRAM_MODULE} required username="{SECRET}'},
        {"sasl.jaas.config": f'{PLAIN_MODULE} required username="carol" password="{SECRET}";'},
        {"sasl.username": "carol", "sasl.password": SECRET},
    ],
)
def test_credentials_that_cannot_be(properties: dict[str, str]) -> None:
    assert refused(SCRAM | properties).startswith("sasl.")


TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "file:///run/my%20token",
}
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def test_a_token_is_in_a_file() -> None:
    given = ClientConfig.from_properties(SERVERS | TOKEN | {"sasl.jaas.config": f"{OAUTH_MODULE} required;"})
    assert given.sasl == SaslConfig("OAUTHBEARER", token_file="/run/my token")
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": "https://issuer/token"}, "must be file:///PATH"),
        ({"sasl.oauthbearer.token.endpoint.url": "file:token"}, "must be file:///PATH"),
        ({"sasl.oauthbearer.token.endpoint.url": "file://elsewhere/token"}, "must be file:///PATH"),
        ({"sasl.oauthbearer.token.endpoint.url": "file://[/token"}, "must be file:///PATH"),
        ({"sasl.jaas.config": f'{OAUTH_MODULE} required clientSecret="{SECRET}";'}, "may have no options"),
        ({"sasl.jaas.config": f"{PLAIN_MODULE} required;"}, "the login module must be"),
        ({"sasl.username": "carol"}, "sasl.username"),
        ({"sasl.mechanism": "PLAIN"}, "must hold username and password"),
    ],
)
def test_a_token_that_cannot_be(properties: dict[str, str], message: str) -> None:
    said = refused(TOKEN | properties)
    assert said.startswith("sasl.")
    assert message in said


def test_sasl_needs_a_protocol_that_has_it() -> None:
    message = refused(SCRAM, **{"security.protocol": "PLAINTEXT"})
    assert message.endswith("has no effect with security.protocol=PLAINTEXT; SASL_PLAINTEXT or SASL_SSL is needed")


def test_tls_by_java_names() -> None:
    given = config(
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location="/ca.pem",
        ssl_keystore_type="PEM",
        ssl_keystore_location="/me.pem",
        ssl_key_password=SECRET,
        ssl_endpoint_identification_algorithm="",
        ssl_enabled_protocols="TLSv1.3",
    )
    assert given.tls is not None
    assert given.tls.trusted is not None
    assert given.tls.trusted.location == "/ca.pem"
    assert given.tls.certificate is not None
    assert given.tls.certificate.location == "/me.pem"
    assert (given.tls.verify, given.tls.check_host_name, given.tls.versions) == (True, False, ("TLSv1.3",))


def test_host_names_are_checked_by_default() -> None:
    tls = config(security_protocol="SSL").tls
    assert tls is not None
    assert (tls.verify, tls.check_host_name, tls.trusted) == (True, True, None)


def test_tls_by_librdkafka_names() -> None:
    tls = config(
        security_protocol="SSL",
        ssl_ca_pem="CA",
        ssl_certificate_location="/cert.pem",
        ssl_key_location="/key.pem",
        enable_ssl_certificate_verification="false",
    ).tls
    assert tls is not None
    assert tls.trusted is not None
    assert tls.trusted.text == "CA"
    assert tls.key is not None
    assert (tls.verify, tls.check_host_name, tls.key.location) == (False, False, "/key.pem")


@pytest.mark.parametrize("store", ["truststore", "keystore"])
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_java_key_stores_are_refused_with_how_to_convert_them(store: str, kind: str) -> None:
    message = refused({"security.protocol": "SSL", f"ssl.{store}.type": kind})
    assert message.startswith(f"ssl.{store}.type: '{kind}': only PEM can be read here; convert it with `keytool ")


@pytest.mark.parametrize(
    "properties",
    [
        {"ssl.truststore.password": SECRET},
        {"ssl.keystore.key": SECRET},
        {"ssl.keystore.certificate.chain": SECRET},
        {"ssl.truststore.location": "/a", "ssl.ca.location": "/b"},
        {"ssl.enabled.protocols": "TLSv1"},
        {"ssl.cipher.suites": "x"},
        {"ssl.endpoint.identification.algorithm": "maybe"},
    ],
)
def test_tls_that_cannot_be(properties: dict[str, str]) -> None:
    assert refused({"security.protocol": "SSL", **properties}).startswith("ssl.")


def test_a_config_is_a_value_whose_repr_has_no_secret() -> None:
    properties = SERVERS | SCRAM | {"security.protocol": "SASL_SSL", "ssl.key.password": SECRET, "ssl.ca.pem": SECRET}
    one, other = ClientConfig.from_properties(properties), ClientConfig.from_properties(properties)
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert SECRET not in repr(one)
    assert SECRET not in str(one)
