"""The sources of a command's cluster, in order: options, the environment, a file, a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from shareq.client.config import ClientConfig
from shareq.ops.cli.shared.exits import CommandEnd
from shareq.ops.cli.shared.profile import client_config, config_path

PROFILES = """
default = "here"

[profiles.here]
bootstrap.servers = "here:1"
client.id = "of the profile"

[profiles.there]
"bootstrap.servers" = "there:2"
security.protocol = "SASL_SSL"
sasl.mechanism = "PLAIN"
sasl.username = "u"
sasl.password = "p"
ssl.truststore.type = "PEM"
check.crcs = false
"""


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"HOME": str(folder)}

    def profiles(self, text: str) -> None:
        path = config_path(self.environment)
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def config(
        self,
        bootstrap: str | None = None,
        config_file: str | None = None,
        profile: str | None = None,
        properties: tuple[str, ...] = (),
        timeout_s: float = 30.0,
    ) -> ClientConfig:
        return client_config(bootstrap, config_file, profile, properties, timeout_s, self.environment)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def server(config: ClientConfig) -> str:
    return str(config.bootstrap_servers[0])


def test_without_anything_it_is_this_machine(home: Home) -> None:
    assert server(home.config()) == "127.0.0.1:9092"


def test_each_source_wins_over_those_after_it(home: Home) -> None:
    home.profiles(PROFILES)
    assert server(home.config()) == "here:1"
    assert server(home.config(profile="there")) == "there:2"
    home.environment["SHAREQ_PROFILE"] = "there"
    assert server(home.config()) == "there:2"
    assert server(home.config(profile="here")) == "here:1"
    file = home.folder / "client.properties"
    file.write_text("bootstrap.servers=file:3\nclient.id=of the file\n")
    config = home.config(config_file=str(file), profile="here")
    assert (server(config), config.client_id) == ("file:3", "of the file")
    home.environment["SHAREQ_CLIENT_CONFIG"] = str(file)
    assert server(home.config(profile="here")) == "file:3"
    home.environment["SHAREQ_CLIENT_CLIENT_ID"] = "of the environment"
    home.environment["SHAREQ_BOOTSTRAP_SERVERS"] = "environment:4"
    config = home.config(profile="here")
    assert (server(config), config.client_id) == ("environment:4", "of the environment")
    config = home.config("option:5", profile="here", properties=("client.id=of the option",))
    assert (server(config), config.client_id) == ("option:5", "of the option")


def test_a_profile_may_have_any_property_with_its_dots(home: Home) -> None:
    home.profiles(PROFILES)
    config = home.config(profile="there")
    assert config.security_protocol == "SASL_SSL"
    assert config.check_crcs is False


def test_the_brokers_variables_are_not_the_clients(home: Home) -> None:
    home.environment["SHAREQ_SSL_KEYSTORE_LOCATION"] = "/of/the/broker.jks"
    assert home.config().tls is None


def test_the_timeout_is_that_of_every_call(home: Home) -> None:
    config = home.config(timeout_s=2.5)
    assert (config.default_api_timeout_ms, config.request_timeout_ms) == (2500, 2500)
    assert home.config(properties=("request.timeout.ms=700",)).request_timeout_ms == 700


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": 0.0}, "--timeout 0: must be above 0"),
        ({"profile": "nowhere"}, "--profile nowhere: is not in "),
        ({"properties": ("client.id",)}, "--property client.id: must be KEY=VALUE"),
        ({"properties": ("client.idd=x",)}, "did you mean client.id?"),
        ({"bootstrap": "nonsense"}, "bootstrap.servers: 'nonsense'"),
        ({"config_file": "/nonexistent"}, "--config /nonexistent: No such file or directory"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    home: Home, capsys: pytest.CaptureFixture[str], given: dict[str, object], said: str
) -> None:
    home.profiles(PROFILES)
    with pytest.raises(CommandEnd) as ended:
        home.config(**given)  # type: ignore[arg-type]
    assert ended.value.code == 2
    ended.value.say_why()
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["profiles = 7", 'default = "x"\n[profiles]\nx = 7', "not toml", "\xff"])
def test_a_file_of_profiles_that_is_none(home: Home, capsys: pytest.CaptureFixture[str], text: str) -> None:
    home.profiles("")
    config_path(home.environment).write_text(text, "latin-1")
    with pytest.raises(CommandEnd) as ended:
        home.config(profile="x")
    assert ended.value.code == 2
    ended.value.say_why()
    assert capsys.readouterr().err.count("\n") == 1


def test_a_profile_without_a_file(home: Home) -> None:
    with pytest.raises(CommandEnd) as ended:
        home.config(profile="there")
    assert "--profile there: there is no file " in ended.value.message
