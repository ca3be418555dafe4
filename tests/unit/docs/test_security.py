"""docs/security.md: a broker accepts each of its property files."""

from __future__ import annotations

import re
from pathlib import Path

import javaproperties
import pytest

from shareq.broker.config.broker_config import BrokerConfig

DOCUMENT = Path(__file__).parents[3] / "docs" / "security.md"
BLOCKS = re.findall(r"^```\n(listeners=.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_property_file_is_one(block: str) -> None:
    config = BrokerConfig.load(javaproperties.loads(block))
    assert config.warnings == ()
    assert config.super_principals


def test_tls_is_as_it_says() -> None:
    (block,) = [each for each in BLOCKS if "SASL_SSL" in each]
    config = BrokerConfig.load(javaproperties.loads(block))
    secure, login = config.security["SECURE"].tls, config.security["LOGIN"].tls
    assert secure is not None
    assert login is not None
    assert (secure.client_auth, login.client_auth) == ("required", "none")
    assert secure.rules is not None
    assert secure.rules.user("CN=alice,OU=Orders,O=Example") == "alice"
    assert secure.rules.user("CN=bob,OU=Other") == "CN=bob,OU=Other"
