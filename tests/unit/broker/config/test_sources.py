"""Properties from the environment and from config providers, and the precedence of sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.keys.broker import BROKER_KEYS
from shareq.broker.config.keys.known_names import KNOWN
from shareq.broker.config.sources.environment import environment_properties, property_name, variable_name
from shareq.protocol.config_def import ConfigError

PROVIDER = "org.apache.kafka.common.config.provider."
PROVIDERS = {
    "config.providers": "file,env,directory",
    "config.providers.file.class": f"{PROVIDER}FileConfigProvider",
    "config.providers.env.class": f"{PROVIDER}EnvVarConfigProvider",
    "config.providers.directory.class": f"{PROVIDER}DirectoryConfigProvider",
}
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="wonderland";'
SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
}
JAAS_KEY = "listener.name.sasl_plaintext.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("SHAREQ_LOG_RETENTION_MS", "log.retention.ms"),
        ("SHAREQ_SHAREQ_DISK_WARN_BYTES", "shareq.disk.warn.bytes"),
        (
            "SHAREQ_LISTENER_NAME_SASL__PLAINTEXT_SCRAM___SHA___256_SASL_JAAS_CONFIG",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config",
        ),
    ],
)
def test_how_a_variable_is_written(variable: str, name: str) -> None:
    assert property_name(variable) == name
    assert variable_name(name) == variable


def test_every_property_has_a_variable_of_its_own() -> None:
    names = {*BROKER_KEYS.names(), *KNOWN}
    assert {property_name(variable_name(name)) for name in names} == names
    assert environment_properties({variable_name(name): name for name in names}) == {name: name for name in names}


def test_options_win_over_the_environment_which_wins_over_the_file() -> None:
    file = {"num.partitions": "2", "group.max.size": "2", "message.max.bytes": "2"}
    environment = {"SHAREQ_NUM_PARTITIONS": "3", "SHAREQ_GROUP_MAX_SIZE": "3", "NUM_PARTITIONS": "9"}
    config = BrokerConfig.load(file, {"num.partitions": "4"}, environment)
    assert (config.num_partitions, config.group_max_size, config.message_max_bytes) == (4, 3, 2)
    assert config.warnings == ()


def test_a_property_of_one_listener_may_be_in_the_environment() -> None:
    environment = {"SHAREQ_LISTENER_NAME_SASL__PLAINTEXT_PLAIN_SASL_JAAS_CONFIG": JAAS}
    config = BrokerConfig.load(SASL, None, environment)
    assert config.security["SASL_PLAINTEXT"].plain_users == {"alice": "wonderland"}


def test_variables_of_others_are_named_and_ignored() -> None:
    """Kubernetes makes such variables for a service called shareq; their values are not shown."""
    environment = {"SHAREQ_PORT": "tcp://10.0.0.1:9092", "SHAREQ_SERVICE_HOST": "x", "SHAREQ_PURE": "1"}
    config = BrokerConfig.load(environment={**environment, "SHAREQ_INSECURE": "true"})
    (warning,) = config.warnings
    assert warning.endswith("are ignored: SHAREQ_PORT, SHAREQ_SERVICE_HOST")
    assert config.originals == {}


def test_variables_of_our_own_clients_are_ignored_in_silence() -> None:
    environment = {"SHAREQ_BOOTSTRAP_SERVERS": "x:1", "SHAREQ_PROFILE": "x", "SHAREQ_CLIENT_SECURITY_PROTOCOL": "SSL"}
    config = BrokerConfig.load(environment=environment)
    assert (config.warnings, config.originals) == ((), {})


def test_what_a_file_a_directory_and_the_environment_hold(tmp_path: Path) -> None:
    (tmp_path / "users.properties").write_text(f"jaas={JAAS}\nother=1\n")
    (tmp_path / "partitions").write_text("7\n")
    given = {
        **SASL,
        **PROVIDERS,
        JAAS_KEY: f"${{file:{tmp_path}/users.properties:jaas}}",
        "num.partitions": f"${{directory:{tmp_path}:partitions}}",
        "broker.rack": "in ${env:PLACE}, ${env:PLACE} and ${unknown:PLACE}",
    }
    config = BrokerConfig.load(given, None, {"PLACE": "Oslo"})
    assert config.security["SASL_PLAINTEXT"].plain_users == {"alice": "wonderland"}
    assert config.num_partitions == 7
    assert config.broker_rack == "in Oslo, Oslo and ${unknown:PLACE}"
    assert config.hidden == {JAAS_KEY, "num.partitions", "broker.rack"}
    assert config.with_dynamic({"num.partitions": "1"}).hidden == {JAAS_KEY, "broker.rack"}


def test_without_providers_a_reference_is_a_text() -> None:
    assert BrokerConfig.load({"broker.rack": "${env:PLACE}"}, None, {"PLACE": "Oslo"}).broker_rack == "${env:PLACE}"


def test_an_option_hides_nothing_that_a_reference_gave_below_it() -> None:
    config = BrokerConfig.load({**PROVIDERS, "broker.rack": "${env:PLACE}"}, {"broker.rack": "Rome"}, {"PLACE": "Oslo"})
    assert (config.broker_rack, config.hidden) == ("Rome", frozenset())


@pytest.mark.parametrize(
    ("reference", "allowed"),
    [
        ("${env:NOWHERE}", "that is set"),
        ("${env:/path:PLACE}", "without a path"),
        ("${env:HIDDEN}", "allowlist.pattern"),
        ("${file:/nowhere:key}", "/nowhere: No such file or directory"),
        ("${file:FOLDER/users.properties:absent}", "which has no absent"),
        ("${file:key}", "must name a path"),
        ("${directory:FOLDER:absent}", "absent: No such file or directory"),
        ("${directory:FOLDER:../x}", "must name a file in"),
        ("${bounded:FOLDER/users.properties:jaas}", "allowed.paths"),
        ("${bounded:FOLDER/in/../users.properties:jaas}", "allowed.paths"),
        ("${bounded:FOLDER/inside:jaas}", "allowed.paths"),
    ],
)
def test_a_reference_to_nothing(tmp_path: Path, reference: str, allowed: str) -> None:
    (tmp_path / "users.properties").write_text(f"jaas={JAAS}\n")
    (tmp_path / "in").mkdir()
    given = {
        **PROVIDERS,
        "config.providers": "file,env,directory,bounded",
        "config.providers.env.param.allowlist.pattern": "PLACE|NOWHERE",
        "config.providers.bounded.class": f"{PROVIDER}FileConfigProvider",
        "config.providers.bounded.param.allowed.paths": f"{tmp_path}/in",
        "broker.rack": reference.replace("FOLDER", str(tmp_path)),
    }
    with pytest.raises(ConfigError, match=r"broker\.rack") as error:
        BrokerConfig.load(given, None, {"PLACE": "Oslo", "HIDDEN": "wonderland"})
    assert allowed in str(error.value)
    assert "wonderland" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.providers.file.class", "com.example.Vault"), ("config.providers.file.param.allowed.paths", "/nowhere")],
)
def test_a_provider_that_there_is_not(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=name):
        BrokerConfig.load({**PROVIDERS, name: text})


@pytest.mark.parametrize("name", ["num.partitions", "broker.id", "super.users", JAAS_KEY])
def test_an_error_shows_nothing_of_what_came_through_a_provider(name: str) -> None:
    given = {**SASL, JAAS_KEY: JAAS, **PROVIDERS, name: "${env:SECRET}"}
    with pytest.raises(ConfigError) as error:
        BrokerConfig.load(given, None, {"SECRET": "open sesame"})
    assert "[hidden]" in str(error.value)
    assert "sesame" not in f"{error.value!r} {error.value} {error.value.value} {error.value.allowed}"
