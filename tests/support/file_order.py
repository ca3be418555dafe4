"""The order in which parallel test processes take files.

The longest come first, so that no long one is left for the end. Files whose tests mostly wait, for brokers and workers
in processes of their own, are spread among those that compute: otherwise all processes would wait at one time and
compute at another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LONGEST: Final = (
    "tests/wire/test_celery.py",
    "tests/exhaustive/test_small_scope.py",
    "tests/wire/test_released_data_folders.py",
    "tests/unit/broker/log/cleaner/test_passes.py",
    "tests/simulation/",
    "tests/fuzz/",
    "tests/wire/test_worker.py",
    "tests/unit/broker/log/recovery/test_crash.py",
    "tests/frames/redrive/test_crashes.py",
    "tests/campaign/storage/",
    "tests/wire/test_recipes.py",
    "tests/differential/",
    "tests/storage_matrix/",
    "tests/campaign/soak/",
    "tests/unit/spark/query/test_driver.py",
    *(
        f"tests/interop/test_{name}.py"  # on Apache Kafka; few tests, so that pytest-xdist would take most of them last
        for name in (
            *("dead_letters_in_trouble", "kafka_tools_side_by_side", "celery_suite", "transactional_producers"),
            "dramatiq_suite",
            *("security_matrix", "every_client", "oauth_clients", "classic_consumers", "taskiq", "celery", "worker"),
            *("frameworks", "dead_letters", "aio", "cli"),
        )
    ),
)
WAITING: Final = ("tests/wire/", "tests/interop/")
AMONG: Final = 0.8
"""The share of the other files among which the waiting files are spread. All remaining files, which are short, come
last.
"""


def in_order(files: Sequence[str]) -> list[str]:
    longest = [file for prefix in LONGEST for file in files if file.startswith(prefix)]
    others = [file for file in files if file not in set(longest)]
    waiting = [file for file in others if file.startswith(WAITING)]
    computing = [file for file in others if not file.startswith(WAITING)]
    return longest + _spread(waiting, computing)


def _spread(some: Sequence[str], among: Sequence[str]) -> list[str]:
    places = [(at * AMONG * len(among) / len(some), file) for at, file in enumerate(some)]
    return [file for _, file in sorted([*places, *((float(at), file) for at, file in enumerate(among))])]
