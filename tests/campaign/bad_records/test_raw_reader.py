"""The judge's own record reader, which must return the bytes that were written."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from devtools.clients.wire import WireClient
from shareq.testing import Broker
from tests.campaign.bad_records.raw_reader import raw_records
from tests.campaign.bad_records.scene import RawRecord, Scene
from tests.campaign.bad_records.surfaces.letters import _contents, _same
from tests.support.bad_records.records import bad_records


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Broker(mode="thread") as broker, Scene(broker, "", tmp_path_factory.mktemp("scene"), 60) as scene:
        yield scene


def test_records_come_back_as_they_were_written(scene: Scene) -> None:
    now_ms = 1_700_000_000_000
    written = [RawRecord(*each) for each in bad_records(Random(1), scene.count, now_ms, 1_000)]
    topic = scene.topic("written")
    scene.write(topic, written)
    with WireClient(scene.broker.address) as client:
        assert list(raw_records(client, topic, scene.end(topic))) == written


def test_a_letter_with_one_other_byte_is_found() -> None:
    written = _contents([RawRecord(b"key", b"value", [(b"\xff", b"1")])])
    _same(written, _contents([RawRecord(b"key", b"value", [(b"\xff", b"1"), (b"__dlq.errors.topic", b"t")])]), "letter")
    with pytest.raises(AssertionError, match="1 of 1 records have no letter"):
        _same(written, _contents([RawRecord(b"key", b"value", [(b"\xef\xbf\xbd", b"1")])]), "letter")
