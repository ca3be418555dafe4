"""docs/start/java.md: its program, run as the page says, with Apache Kafka's client."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from devtools.kafka.apache_kafka import class_path
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.java_driver import why_no_java
from tests.support.processes import finished

pytestmark = [pytest.mark.interop, pytest.mark.skipif(why_no_java() is not None, reason=str(why_no_java()))]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "start" / "java.md").read_text()


def test_the_worker_prints_what_the_page_shows(broker: BrokerUnderTest) -> None:
    ((command, shown),) = re.findall(r"^```sh\n(java .*?)\n```\n\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    command = command.replace("'jars/*'", f"'{class_path()}'").replace("127.0.0.1:9092", broker.bootstrap)
    ran = finished(["sh", "-c", command], cwd=ROOT, timeout_s=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert sorted(ran.stdout.splitlines()) == sorted(shown.splitlines())
    assert ran.stdout.splitlines()[-1] == "divide by zero: reject"


def test_the_dependency_is_what_these_tests_use() -> None:
    (xml,) = re.findall(r"^```xml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    asked = ET.fromstring(xml)
    pom = (ROOT / "devtools" / "kafka" / "apache_kafka.pom.xml").read_text()
    assert asked.findtext("artifactId") == "kafka-clients"
    assert f"<kafka.version>{asked.findtext('version')}</kafka.version>" in pom
