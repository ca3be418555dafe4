"""Protected listeners: allowed properties, errors that stop the start, and passwords that never appear in them."""

from __future__ import annotations

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.process.scram_option import parse_add_scram
from shareq.protocol.config_def import ConfigError
from shareq.protocol.jaas import parse_jaas
from tests.support.clients.sasl import PLAIN_MODULE, sasl_properties
from tests.support.worlds.admin_world import World

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"


def test_users_are_those_of_the_listener() -> None:
    config = BrokerConfig.load(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0,CLIENT://127.0.0.1:0,OTHER://127.0.0.1:0",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENT:SASL_PLAINTEXT,OTHER:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_a="1";',
            "listener.name.other.sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.other.connections.max.reauth.ms": "5",
            "connections.max.reauth.ms": "7",
        }
    )
    assert not config.security["PLAINTEXT"].sasl
    client, other = config.security["CLIENT"], config.security["OTHER"]
    assert (client.mechanisms, dict(client.plain_users), client.max_reauth_ms) == (("PLAIN",), {"a": "1"}, {"PLAIN": 7})
    assert (other.mechanisms, dict(other.plain_users)) == (("SCRAM-SHA-256",), {})
    assert other.max_reauth_ms == {"SCRAM-SHA-256": 5}
    assert config.warnings == ()


def test_an_option_wins_over_the_file() -> None:
    over = f'{PLAIN_MODULE} required user_x="y";'
    config = BrokerConfig.load(sasl_properties(), {JAAS: over})
    assert dict(config.security["SASL_PLAINTEXT"].plain_users) == {"x": "y"}
    assert dict(config.with_dynamic({}).security["SASL_PLAINTEXT"].plain_users) == {"x": "y"}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({JAAS: "hunter2"}, JAAS),
        ({JAAS: f'{PLAIN_MODULE} required user_a="hunter2'}, JAAS),
        ({JAAS: f'{PLAIN_MODULE} required user_a="hunter2"'}, JAAS),
        ({JAAS: 'com.example.Other required user_a="hunter2";'}, JAAS),
        ({JAAS: f'{PLAIN_MODULE} hunter2 user_a="hunter2";'}, JAAS),
        ({JAAS: f'{PLAIN_MODULE} required user_a="hunter2"; {PLAIN_MODULE} required;'}, JAAS),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms"),
        ({"sasl.enabled.mechanisms": ""}, "sasl.enabled.mechanisms"),
        ({"listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "sasl.enabled.mechanisms"),
        (
            {"listener.name.sasl_plaintext.sasl.enabled.mechanisms": "OAUTHBEARER"},
            "sasl.oauthbearer.jwks.endpoint.url",
        ),
        ({"listener.name.sasl_plaintext.connections.max.reauth.ms": "soon"}, "connections.max.reauth.ms"),
        ({"super.users": "admin"}, "super.users"),
        ({"authorizer.class.name": "com.example.Authorizer"}, "authorizer.class.name"),
    ],
)
def test_what_cannot_be_used_stops_the_start_and_reports_no_secret(change: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigError) as failure:
        BrokerConfig.load({**sasl_properties(), **change})
    assert name in str(failure.value)
    assert "hunter2" not in str(failure.value)


def test_plain_needs_users() -> None:
    properties = sasl_properties()
    del properties[JAAS]
    with pytest.raises(ConfigError, match="user_NAME"):
        BrokerConfig.load(properties)


def test_without_an_authorizer_of_ours_the_broker_does_not_start_open() -> None:
    """An operator who names another authorizer expects access to be restricted."""
    with pytest.raises(ConfigError, match=r"must be empty or one of org\..*StandardAuthorizer"):
        BrokerConfig.load({"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"})


def test_passwords_are_in_no_description() -> None:
    world = World(sasl_properties())
    described = [(entry.key.name, entry.value) for entry in world.admin.describe_broker(cluster=False)]
    texts = repr(
        (described, world.started_with.security, world.started_with.originals, vars(world.started_with)["values"])
    )
    assert "wonderland" not in texts
    assert "builder" not in texts


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{PLAIN_MODULE} required;", {}),
        (f"{PLAIN_MODULE} required a=b;", {"a": "b"}),
        (f'{PLAIN_MODULE}\n  REQUIRED\n  a="b c;="\n  d=\'e"\' ;\n', {"a": "b c;=", "d": 'e"'}),
        (f'{PLAIN_MODULE} required a="q\\"\\\\r";', {"a": 'q"\\r'}),
        (f'{PLAIN_MODULE} required user_a="";', {"user_a": ""}),
    ],
)
def test_jaas(text: str, options: dict[str, str]) -> None:
    entry = parse_jaas(text)
    assert (entry.module, entry.options) == (PLAIN_MODULE, options)
    assert "hidden" in repr(entry)


def test_add_scram(tmp_path: object) -> None:
    user = parse_add_scram("SCRAM-SHA-256=[name=alice,password=pw]", {})
    assert (*user.key, user.password, user.iterations) == ("alice", "SCRAM-SHA-256", "pw", 4096)
    assert "pw" not in repr(user)
    user = parse_add_scram('SCRAM-SHA-512=[name="bob",iterations=8192,password-env=SECRET]', {"SECRET": "from env"})
    assert (user.key.user, user.password, user.iterations) == ("bob", "from env", 8192)
    file = f"{tmp_path}/password"
    with open(file, "w") as out:
        out.write("from file\n")
    assert parse_add_scram(f"SCRAM-SHA-256=[name=a,password-file={file}]", {}).password == "from file"


@pytest.mark.parametrize(
    "text",
    [
        "hunter2",
        "SCRAM-SHA-1=[name=a,password=hunter2]",
        "SCRAM-SHA-256=[password=hunter2]",
        "SCRAM-SHA-256=[name=a]",
        "SCRAM-SHA-256=[name=a,password=]",
        "SCRAM-SHA-256=[name=a,password=hunter2,password-env=X]",
        "SCRAM-SHA-256=[name=a,password=hunter2,iterations=1]",
        "SCRAM-SHA-256=[name=a,password=hunter2,iterations=16385]",
        "SCRAM-SHA-256=[name=a,password=hunter2,hunter2=x]",
        "SCRAM-SHA-256=[name=a,password-env=MISSING]",
    ],
)
def test_an_add_scram_that_cannot_be_used_reports_no_secret(text: str) -> None:
    with pytest.raises(ValueError, match="must ") as failure:
        parse_add_scram(text, {})
    assert "hunter2" not in str(failure.value)
