"""100,000 share groups and 20,000 partitions: the commands that list them keep memory low."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.testing import Broker

pytestmark = [pytest.mark.interop, pytest.mark.thorough]

GROUPS = 100_000
TOPICS, PARTITIONS = 20, 1_000
AT_ONCE = 500
LEAST_MB = 20
SHAREQ = """
import sys
from pathlib import Path
from shareq.ops.cli.main import main
try:
    main()
finally:  # what a process was forked from counts in its resource usage: VmHWM begins with the program
    sys.stderr.write(Path("/proc/self/status").read_text().partition("VmHWM:")[2].partition("\\n")[0])
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"shareq.max.groups.per.principal": str(GROUPS)}) as broker:
        with WireClient(broker.address) as client:
            client.set_timeout(120)
            for number in range(TOPICS):
                create_topic(client, f"topic-{number:02}", PARTITIONS)
            topics = [AlterShareGroupOffsetsRequestTopic("topic-00", [AlterShareGroupOffsetsRequestPartition(0, 0)])]
            for first in range(0, GROUPS, AT_ONCE):
                for number in range(first, first + AT_ONCE):
                    client.send(AlterShareGroupOffsetsRequest(f"a-group-with-a-name-{number:06}", topics), 0)
                for _ in range(AT_ONCE):
                    answer = client.receive()
                    assert isinstance(answer, AlterShareGroupOffsetsResponse)
                    assert answer.error_code == 0, answer
        yield broker


def run(broker: Broker, output: Path, *words: str) -> tuple[int, float]:
    """Return the number of lines that a command prints, and its peak memory in MB."""
    environment = {**os.environ, "SHAREQ_BOOTSTRAP_SERVERS": broker.bootstrap, "XDG_CONFIG_HOME": "/nonexistent"}
    with output.open("wb") as file:
        command = [sys.executable, "-c", SHAREQ, *words]
        ran = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=environment, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    with output.open("rb") as file:
        return sum(1 for _ in file), int(ran.stderr.split()[-2]) / 1024


@pytest.mark.parametrize(
    ("words", "lines", "most_mb"),
    [
        (("share", "list"), GROUPS, 100),
        (("share", "lag"), GROUPS, 100),
        (("topics", "list"), TOPICS, 60),
        (("topics", "describe", *(f"topic-{number:02}" for number in range(TOPICS))), TOPICS * PARTITIONS, 60),
        (("top", "--once", "--every", "0.1"), 1_000, 100),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_list_of_very_many_is_printed_in_bounded_memory(
    broker: Broker, tmp_path: Path, words: tuple[str, ...], lines: int, most_mb: float
) -> None:
    began_s = time.monotonic()
    found, memory_mb = run(broker, tmp_path / "output", *words)
    print(f"{' '.join(words[:2])}: {found:,} lines, {memory_mb:.0f} MB, {time.monotonic() - began_s:.1f} s")  # with -rP
    assert found > lines
    assert LEAST_MB < memory_mb < most_mb
