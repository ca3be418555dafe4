"""A check that every page with commands has a test that runs them, or a reason here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.wire.test_documents import DOCS

ROOT: Final = DOCS.parent
TOOLS: Final = "tests/interop/test_documented_tools.py"
DOCUMENTS: Final = "tests/wire/test_documents.py"
PAGES: Final = "tests/wire/test_pages.py"
HOWTO: Final = "tests/wire/test_howto_pages.py"
RUN_BY: Final = {
    "airflow.md": "tests/wire/test_airflow.py",
    "asyncio.md": "tests/wire/test_asyncio_page.py",
    "celery.md": "tests/wire/test_celery_page.py",
    "cli.md": "tests/unit/docs/test_cli.py",
    "cluster.md": "tests/wire/test_node.py",
    "coming-from.md": PAGES,
    "concepts/faults.md": PAGES,
    "concepts/lock.md": PAGES,
    "concepts/partitions.md": PAGES,
    "concepts/record.md": PAGES,
    "console.md": DOCUMENTS,
    "dead-letters.md": TOOLS,
    "delays.md": "tests/wire/test_queues.py",
    "time-to-live.md": "tests/wire/test_queues.py",
    "dramatiq.md": "tests/wire/test_dramatiq_page.py",
    "faststream.md": "tests/interop/test_frameworks.py",
    "howto/celery-redis-stops-consuming.md": HOWTO,
    "howto/kafka-dead-letter-queue-python.md": HOWTO,
    "howto/kafka-retry-with-backoff-python.md": HOWTO,
    "howto/kafka-share-group-lag-prometheus.md": HOWTO,
    "howto/kafka-share-groups-ui.md": HOWTO,
    "howto/local-queue-for-tests.md": HOWTO,
    "howto/parallel-consumer-alternative.md": HOWTO,
    "howto/pyspark-kafka-without-a-jar.md": HOWTO,
    "kafka-4.4.md": TOOLS,
    "kafka-tools.md": "tests/unit/docs/test_kafka_tools.py",
    "maintenance.md": DOCUMENTS,
    "moving.md": PAGES,
    "operating.md": DOCUMENTS,
    "order-by-key.md": TOOLS,
    "queues.md": "tests/wire/test_queues.py",
    "pause.md": PAGES,
    "quotas.md": TOOLS,
    "records-api.md": DOCUMENTS,
    "redelivery.md": TOOLS,
    "security.md": TOOLS,
    "spark.md": "tests/unit/docs/test_spark.py",
    "start/java.md": "tests/interop/test_start_in_java.py",
    "start/python.md": PAGES,
    "start/shell.md": PAGES,
    "start/spark.md": "tests/spark/test_start_page.py",
    "taskiq.md": "tests/wire/test_taskiq_page.py",
    "testing.md": "tests/wire/test_recipes.py",
    "worker.md": "tests/wire/test_worker_page.py",
}
NOT_RUN: Final = {
    ("console.md", "pip install '.[console]'"): "pip itself is not run: it would fetch the same again",
    ("maintenance.md", "$ shareq import-logs /var/lib"): "tests/interop/test_neighbourhood.py, with folders of its own",
    ("maintenance.md", "$ kafka-storage.sh format"): "tests/interop/test_neighbourhood.py, with folders of its own",
    ("operating.md", "docker compose --file"): "no daemon: make docker-test starts the image",
    ("operating.md", "useradd --system"): "needs systemd as process 1",
    ("operating.md", "kubectl apply"): "no cluster: tests/unit/docker/test_services.py checks the file",
    ("spark.md", "pip install '.[spark,jre]'"): "make .venv-spark/.ready",
    ("testing.md", "shareq serve --ephemeral"): "tests/wire/test_testing_modes.py",
}
"""The blocks that the tests of these pages do not run, by their beginnings, with what the tests do instead."""

_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"^(?:\$ \S|(?:shareq|curl|kcat|openssl|make|python) |kafka-[\w-]+\.sh )", re.MULTILINE)


def pages_with_commands() -> set[str]:
    """Return the pages with commands, except evidence (see below), the generated reference, and benchmarks."""
    found = set()
    for page in DOCS.glob("**/*.md"):
        name = str(page.relative_to(DOCS))
        if name.startswith(("evidence/", "reference/", "adr/", "site/")) or name == "benchmarks.md":
            continue
        blocks = _BLOCK.findall(page.read_text())
        if any(language == "sh" or (language in ("", "console") and _COMMAND.match(text)) for language, text in blocks):
            found.add(name)
    return found


def test_every_page_with_commands_has_a_test_that_runs_them() -> None:
    assert pages_with_commands() == set(RUN_BY)


@pytest.mark.parametrize("page", sorted(RUN_BY))
def test_the_test_of_a_page_reads_it(page: str) -> None:
    text = (ROOT / RUN_BY[page]).read_text()
    assert Path(page).name in text, f"{RUN_BY[page]} does not name {page}"


@pytest.mark.parametrize(("page", "begin"), sorted(NOT_RUN))
def test_what_is_left_out_is_still_shown_and_is_done_elsewhere(page: str, begin: str) -> None:
    assert any(text.startswith(begin) for _, text in _BLOCK.findall((DOCS / page).read_text()))
    for path in re.findall(r"\b(?:tests|docs)/\S+\.\w+", NOT_RUN[page, begin]):
        assert (ROOT / path).exists()


def test_the_commands_of_campaigns_exist() -> None:
    """Running the commands takes hours, so only their existence is checked."""
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = 0
    for page in [*DOCS.glob("evidence/*.md"), DOCS / "benchmarks.md"]:
        for _, block in _BLOCK.findall(page.read_text()):
            for target in re.findall(r"^(?:\$ )?make ([\w-]+)", block, re.MULTILINE):
                assert target in targets, f"{page.name}: make {target}"
                shown += 1
            for module in re.findall(r"^(?:\$ )?\S*python -m ([\w.]+)", block, re.MULTILINE):
                path = ROOT / module.replace(".", "/")
                assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"{page.name}: {module}"
                shown += 1
    assert shown > 20
