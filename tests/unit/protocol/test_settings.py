from __future__ import annotations

from typing import NamedTuple

import pytest

from shareq.protocol.config_def import (
    BrokerDefault,
    ConfigError,
    ConfigType,
    ConfigValue,
    UpdateMode,
    boolean,
    broker_keys,
    declared,
    integer,
    text,
    words,
)
from shareq.protocol.settings import keys_of, setting, settings, settings_from


@settings
class Pause(NamedTuple):
    first_ms: int = setting(integer("g.pause.ms", 7, "How long.", at_least=1))


@settings
class Group(NamedTuple):
    limit: int = setting(integer("g.limit", 5, "How often.", at_least=2, at_most=10))
    loud: bool = setting(text("g.voice", "low", "How loud."), "high".__eq__)
    asked: bool = False
    pause: Pause = Pause()


def test_defaults_are_those_of_the_properties() -> None:
    assert Group() == Group(limit=5, loud=False, asked=False, pause=Pause(7))
    assert Group(limit=6)._replace(loud=True) == (6, True, False, (7,))
    assert Group._field_defaults == {"limit": 5, "loud": False, "asked": False, "pause": Pause(7)}


def test_the_properties_are_known_also_of_settings_inside() -> None:
    assert [key.name for key in keys_of(Group)] == ["g.limit", "g.voice", "g.pause.ms"]


def test_values_become_settings() -> None:
    values: dict[str, ConfigValue] = {"g.limit": 9, "g.voice": "high", "g.pause.ms": 1, "other": "x"}
    assert settings_from(Group, values, asked=True) == Group(9, True, True, Pause(1))


class Broker:
    node_id = integer("node.id", 1, "Its number.", at_least=0)
    names = words("names", None, "What it is called.")
    dynamic = boolean("dynamic", False, "Changes while it runs.", mode=UpdateMode.CLUSTER_WIDE)


def test_a_property_is_an_attribute_once_it_has_a_value() -> None:
    broker = Broker()
    with pytest.raises(AttributeError, match=r"node\.id has no value yet"):
        _ = broker.node_id
    vars(broker)["node_id"] = 3
    assert broker.node_id == 3
    assert [key.name for key in declared(Broker)] == ["node.id", "names", "dynamic"]
    assert (Broker.names.type, Broker.names.default, Broker.dynamic.mode) == (
        ConfigType.LIST,
        None,
        UpdateMode.CLUSTER_WIDE,
    )
    with pytest.raises(ConfigError, match=r"-1 for configuration node\.id: must be at least 0"):
        Broker.node_id.parse("-1")


def test_a_group_property_has_three_of_the_broker() -> None:
    bounds = BrokerDefault("The default.", 2, 10, within=(2, 20), greatest_within=(5, None), greatest_aliases=("old",))
    own, least, greatest = broker_keys(integer("share.limit", 5, "How often.", at_least=2, broker=bounds))
    assert (own.name, own.default, own.doc, own.type) == ("group.share.limit", 5, "The default.", ConfigType.INT)
    assert (least.name, least.default) == ("group.share.min.limit", 2)
    assert (greatest.name, greatest.default, greatest.aliases) == ("group.share.max.limit", 10, ("old",))
    for key, low, high in ((own, 2, 20), (least, 2, None), (greatest, 5, None)):
        assert key.parse(str(low)) == low
        for wrong in (low - 1, None if high is None else high + 1):
            if wrong is not None:
                with pytest.raises(ConfigError, match=key.name):
                    key.parse(str(wrong))
    assert list(broker_keys(integer("share.other", 5, "Without."))) == []
