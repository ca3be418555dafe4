"""Mutation runs: find small changes of the code for which no test fails. By area, with mutmut, on a copy of the tree.

    .venv-mutation/bin/python scripts/mutation.py [--list] [--diffs] [--again] [--part SHARE] [--only NAME] AREA...

For each area the table has its files and the tests to run. Prints the counts by file, and with `--diffs` the changes
that no test noticed, and why no test can, if `mutation_survivors.toml` has the function. Needs the dependency group
`mutation`; `make mutation ARGS=AREA` has it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
STAGES: Final = ROOT / "build" / "mutation"
SURVIVORS: Final = ROOT / "scripts" / "mutation_survivors.toml"
UNIT: Final = "tests/unit/broker"
FRAMES: Final = "tests/frames"
RIGHTS: Final = f"{FRAMES}/administration/test_rights.py::test_with_all_rights_nothing_is_refused_and_without_one_it_is"
DEAD: Final = ("killed", "timeout")


class Area(NamedTuple):
    """An area. `files` are patterns below the package, `tests` paths for pytest."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def _tests(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}.py" for name in names.split())


CORE: Final = f"{UNIT}/share/core"
COORDINATOR: Final = "tests/unit/coordinator"
CORE_TESTS: Final = _tests(
    CORE,
    "ack_batches acknowledge acquire counters dead_letters fetch_plan load loaded_windows locks order"
    " order_acknowledged order_choice read_committed redelivery release sessions state_writes worked_example",
)

AREAS: Final[Mapping[str, Area]] = {
    "share-core": Area(("broker/share/core/*.py",), CORE_TESTS),
    "share-window": Area(
        ("broker/share/core/window/*.py",),
        (*CORE_TESTS, f"{CORE}/window"),
    ),
    "share-ordered": Area(
        ("broker/share/ordered/*.py",),
        (f"{FRAMES}/share_order",),
    ),
    "share-dlq": Area(
        tuple(f"broker/share/dlq/{each}.py" for each in ("letter_batches", "letters", "rules", "source")),
        (
            *_tests(f"{UNIT}/share/dlq", "rules letter_batches queues"),
            *_tests(f"{FRAMES}/dead_letters", "kept_dead_records queues_of_a_broker"),
        ),
    ),
    "coordinator-share": Area(
        ("coordinator/share/*.py",),
        _tests(f"{COORDINATOR}/share", "delays keys records share_shard sizes state_batches"),
    ),
    "protocol-rows": Area(
        ("protocol/rows.py",), _tests("tests/unit/protocol", "rows round_trip share_rpcs stepped_writing")
    ),
    "log-formats": Area(
        (
            "protocol/records/*.py",
            "broker/log/producer_state.py",
            *(f"broker/log/promises/{each}.py" for each in ("checkpoints", "clean_shutdown", "manifest", "new_names")),
            *(f"broker/log/segments/{each}.py" for each in ("index", "index_checksums", "txn_index")),
        ),
        (
            "tests/unit/protocol/records",
            f"{UNIT}/log/test_producer_state.py",
            *_tests(f"{UNIT}/log/promises", "checkpoints clean_shutdown manifest manifest_file new_names"),
            *_tests(f"{UNIT}/log/segments", "index index_checksums segment txn_index"),
        ),
    ),
    "order-passes": Area(  # of log-formats, whose many tests have each endless loop take minutes
        tuple(f"protocol/passes/{each}.py" for each in ("chains", "offsets")),
        _tests("tests/unit/protocol/passes", "chains offsets"),
    ),
    "redrive": Area(
        tuple(
            f"broker/redrive/{each}.py" for each in ("letter", "progress", "rate_limit", "reading", "rounds", "spec")
        ),
        (
            *_tests(f"{UNIT}/redrive", "progress rate_limit reading rounds"),
            *_tests(f"{FRAMES}/redrive", "redrives redrive_rights half_a_round"),
        ),
    ),
    "coordinator-transaction": Area(("coordinator/transaction/*.py",), (f"{COORDINATOR}/transaction",)),
    "coordinator-group": Area(("coordinator/group/*.py",), (f"{COORDINATOR}/group",)),
    "coordinator-group-share": Area(("coordinator/group/share/*.py",), (f"{COORDINATOR}/group/share",)),
    "coordinator-group-offsets": Area(
        ("coordinator/group/offsets/*.py",),
        (f"{COORDINATOR}/group/offsets", f"{COORDINATOR}/group/consumer/test_offsets_and_kinds.py"),
    ),
    "coordinator-group-consumer": Area(
        ("coordinator/group/consumer/*.py", "coordinator/group/consumer/target/*.py"),
        (f"{COORDINATOR}/group/consumer", f"{FRAMES}/groups/test_consumer_groups.py"),
    ),
    "coordinator-group-classic": Area(
        (
            "coordinator/group/classic/*.py",
            "coordinator/group/classic/rpc/*.py",
            "coordinator/group/classic_protocol/*.py",
        ),
        (f"{COORDINATOR}/group/classic", f"{COORDINATOR}/group/classic_protocol"),
    ),
    "coordinator-group-migration": Area(("coordinator/group/migration/*.py",), (f"{COORDINATOR}/group/migration",)),
    "runtime": Area(
        ("broker/coordinator_runtime/*.py",),
        tuple(
            f"{UNIT}/coordinator_runtime/{each}.py"
            for each in ("test_partition", "test_partitions", "test_replay", "test_batches")
        ),
    ),
    "share": Area(
        ("broker/share/*.py",),
        (
            f"{UNIT}/share/test_partition_manager.py",
            f"{UNIT}/share/test_fetch.py",
            f"{UNIT}/share/test_coordinator.py",
            f"{UNIT}/share/test_session_ends.py",
            f"{UNIT}/share/test_acknowledgements.py",
            f"{UNIT}/share/test_service.py",
            f"{UNIT}/share/test_leader_counters.py",
        ),
    ),
    "groups": Area(
        ("broker/groups/*.py",),
        tuple(
            f"{UNIT}/groups/{each}.py"
            for each in ("test_share_service", "test_services", "test_offsets_service", "test_administration_service")
        ),
    ),
    "transactions": Area(
        ("broker/transactions/*.py",),
        (f"{UNIT}/transactions/test_coordinator_service.py", f"{UNIT}/transactions/test_admission.py"),
    ),
    "security": Area(
        ("broker/security/*.py", "broker/network/sasl_gate.py"),
        (
            f"{UNIT}/security",
            f"{UNIT}/network",
            *_tests(f"{FRAMES}/administration", "rights sasl invented_credentials"),
        ),
    ),
    "topics": Area(
        ("broker/topics/*.py", "broker/fetch/read.py"),
        (f"{UNIT}/topics", f"{FRAMES}/topics", f"{UNIT}/fetch/test_read.py"),
    ),
    "handlers-share": Area(
        ("broker/handlers/share/*.py",),
        (
            RIGHTS,
            *_tests(
                f"{FRAMES}/share_fetch",
                "share_fetch_and_acknowledge share_fetch_rows share_fetch_modes share_sessions share_fetch_waits"
                " fetches_and_rights several_brokers",
            ),
            *_tests(f"{FRAMES}/share_state", "share_state_rpcs share_state_initialization"),
            *_tests(f"{FRAMES}/groups", "group_administration share_group_membership"),
        ),
    ),
    "handlers-transactions": Area(
        ("broker/handlers/transactions/*.py",),
        (RIGHTS, *_tests(f"{FRAMES}/transactions", "transactions transaction_administration")),
    ),
    "handlers-access": Area(
        ("broker/handlers/access/*.py",), (RIGHTS, *_tests(f"{FRAMES}/administration", "access_administration sasl"))
    ),
    "handlers-records": Area(
        ("broker/handlers/records/*.py", "broker/handlers/shared/produce_append.py"),
        (
            RIGHTS,
            f"{FRAMES}/produce",
            f"{FRAMES}/fetch",
            f"{FRAMES}/long/test_produce_turns.py",
        ),
    ),
    "handlers-groups": Area(
        ("broker/handlers/groups/*.py",),
        (
            RIGHTS,
            *_tests(f"{FRAMES}/groups", "classic_groups consumer_groups group_administration"),
            *_tests(f"{FRAMES}/offsets", "committed_offsets all_offsets_of_a_group offsets_and_rights"),
        ),
    ),
    "handlers-topics": Area(
        ("broker/handlers/topics/*.py",),
        (
            RIGHTS,
            f"{UNIT}/handlers/topics",
            f"{FRAMES}/topics/test_auto_creation.py",
            f"{UNIT}/handlers/cluster/test_cluster_metadata.py",
        ),
    ),
    "handlers-configs": Area(
        ("broker/handlers/configs/*.py", "broker/handlers/shared/alter_resource.py"),
        (RIGHTS, f"{UNIT}/handlers/configs", f"{FRAMES}/administration/test_client_quotas.py"),
    ),
    "handlers-cluster": Area(
        ("broker/handlers/cluster/*.py",),
        (
            RIGHTS,
            f"{UNIT}/handlers/cluster",
            *_tests(f"{FRAMES}/administration", "cluster_administration update_features"),
        ),
    ),
    "log-admission": Area(
        ("broker/log/admission.py", "broker/log/append.py", "broker/log/markers.py"),
        _tests(f"{UNIT}/log", "append markers admission admission_of_records partition_log"),
    ),
    "log-recovery": Area(("broker/log/recovery/*.py", "broker/log/opening/*.py"), (f"{UNIT}/log/recovery",)),
    "log-promises": Area(("broker/log/promises/*.py",), (f"{UNIT}/log/promises",)),
    "log-shells": Area(
        ("broker/log/manager.py", "broker/log/flush.py", "broker/log/folders.py", "broker/log/log_starts.py"),
        _tests(f"{UNIT}/log", "manager flush folders log_starts"),
    ),
    "log-cleaner": Area(("broker/log/cleaner/*.py",), (f"{UNIT}/log/cleaner",)),
    "client": Area(
        tuple(f"client/{each}.py" for each in ("cluster", "config", "network", "offsets")),
        _tests("tests/unit/client", "client_config cluster network offsets"),
    ),
    "client-wire": Area(
        (
            "client/admin/*.py",
            "client/security/*.py",
            *(f"client/{each}.py" for each in ("connection", "errors", "fetch", "properties", "protocol")),
        ),
        (
            "tests/unit/client/admin",
            "tests/unit/client/security",
            *_tests("tests/unit/client", "client_config connection protocol range_fetcher"),
        ),
    ),
    "client-share": Area(("client/share/*.py",), ("tests/unit/client/share",)),
    "spark-query": Area(
        ("spark/query/books.py", "spark/query/available_now.py", "spark/offsets.py", "spark/options.py"),
        (
            *_tests("tests/unit/spark/query", "books available_now"),
            *_tests("tests/unit/spark", "offsets options"),
        ),
    ),
    "spark-driver": Area(
        ("spark/query/driver.py", "spark/query/group_view.py", "spark/query/progress.py", "spark/planning.py"),
        ("tests/unit/spark/query/test_driver.py", "tests/unit/spark/test_planning.py"),
    ),
}


def stage(folder: Path, area: Area, only: str) -> None:
    """Copy the tree for mutmut: no links, and no compiled modules, which would run in place of the changed source.

    `only` is a part of the paths of the area's files to change.
    """
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "src" / "shareq"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.so", "*.pyd", "compiled")
    shutil.copytree(ROOT / "src" / "shareq", package, ignore=ignored)  # what its links lead to
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
    for name in ("devtools", "schemas", "bench", "examples", "docs", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    files = sorted(
        str(path.relative_to(folder)) for each in area.files for path in package.glob(each) if only in str(path)
    )
    config = {
        "source_paths": ["src"],
        "only_mutate": files,  # its own patterns would reach into folders below
        "also_copy": ["tests", "devtools", "schemas", "pyproject.toml"],
        "timeout_multiplier": 6.0,  # of what its tests took; the tool's own 15 waits minutes for each endless loop
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": list(area.tests),
    }
    pyproject = (ROOT / "pyproject.toml").read_text()
    rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items())
    (folder / "pyproject.toml").write_text(f"{pyproject}\n[tool.mutmut]\n{rows}")


def mutmut(folder: Path, *arguments: str, capture: bool = False, may_fail: bool = False) -> str:
    """Run mutmut on a copy; return its output if captured. End the program if mutmut fails, unless that is allowed."""
    command = [str(Path(sys.executable).parent / "mutmut"), *arguments]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    stdout = subprocess.PIPE if capture else subprocess.DEVNULL
    stderr = subprocess.DEVNULL if may_fail else None
    done = subprocess.run(command, cwd=folder, env=env, check=False, text=True, stdout=stdout, stderr=stderr)
    if done.returncode and not may_fail:
        sys.exit(f"{' '.join(command)} in {folder} has failed with {done.returncode}: run it there, and see why")
    return done.stdout or ""


def outcomes(folder: Path) -> dict[str, str]:
    """Return the outcome of each mutant."""
    lines = mutmut(folder, "results", "--all", "true", capture=True).splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)


def drawn(folder: Path, share: float) -> list[str]:
    """Return the names of this share of the mutants, drawn at random but always the same.

    Mutants that only change a text or a log line are left out.
    """
    mutmut(folder, "run", "--max-children", "1", "none of this name", may_fail=True)  # makes them, and finds the tests
    bodies: dict[str, list[str]] = {}
    for path in sorted((folder / "mutants" / "src").rglob("*.py")):
        text = path.read_text()
        if "__mutmut_" not in text:
            continue
        module = ".".join(path.relative_to(folder / "mutants" / "src").with_suffix("").parts)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                bodies[f"{module}.{node.name}"] = text.split("\n")[node.lineno : node.end_lineno]
    rng = Random(7)
    return [name for name in sorted(outcomes(folder)) if _changes_more_than_text(bodies, name) and rng.random() < share]


def _changes_more_than_text(bodies: Mapping[str, Sequence[str]], name: str) -> bool:
    original = f"{name.rpartition('__mutmut_')[0]}__mutmut_orig"
    if name not in bodies or original not in bodies:
        return True
    before, after = set(bodies[original]), set(bodies[name])
    gone, new = " ".join(sorted(before - after)), " ".join(sorted(after - before))
    return "logger." not in gone and "XX" not in new and gone.lower() != new.lower()


def reasons(name: str) -> list[str]:
    """Return the reasons why some changes of a mutant's function cannot be noticed."""
    module, _, mutant = name.partition(".x")
    function = (
        mutant.rpartition("__mutmut_")[0].rpartition("ǁ")[2] if "ǁ" in mutant else mutant[1:].rpartition("__mutmut_")[0]
    )
    file = f"{module.removeprefix('shareq.').replace('.', '/')}.py"
    rows = tomllib.loads(SURVIVORS.read_text())["survivor"]
    return [f"{row['change']}: {row['why']}" for row in rows if row["file"] == file and function in row["functions"]]


def missing(area: Area) -> list[str]:
    """Return the patterns of an area that find no file, and the tests that do not exist."""
    files = [each for each in area.files if not any((ROOT / "src" / "shareq").glob(each))]
    return files + [each for each in area.tests if not (ROOT / each.partition("::")[0]).exists()]


def report(folder: Path, found: Mapping[str, str], *, diffs: bool) -> None:
    by_module: dict[str, Counter[str]] = {}
    for name, outcome in found.items():
        by_module.setdefault(name.split(".x", 1)[0], Counter())[outcome] += 1
    for module, counts in sorted(by_module.items()):
        print(f"{module:60} {sum(counts.values()):5} {dict(counts)}")
    dead = sum(outcome in DEAD for outcome in found.values())
    score = f", score {100 * dead / len(found):.1f} %" if found else ""
    print(f"{'all':60} {len(found):5} {dict(Counter(found.values()))}{score}")
    for name, outcome in found.items():
        if diffs and outcome not in DEAD:
            print(f"\n## {outcome}\n{mutmut(folder, 'show', name, capture=True)}")
            print("".join(f"* known: {reason}\n" for reason in reasons(name)), end="")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", metavar="AREA", choices=[*AREAS, []])
    parser.add_argument("--list", action="store_true", help="the areas")
    parser.add_argument("--only", default="", metavar="NAME", help="files with this in their paths")
    parser.add_argument("--again", action="store_true", help="only those that lived in the area's last run")
    parser.add_argument("--part", type=float, metavar="SHARE", help="so large a share of the mutants, from 0 to 1")
    parser.add_argument("--diffs", action="store_true", help="show each mutant that lives")
    chosen = parser.parse_args(arguments)
    if chosen.list or not chosen.areas:
        print("\n".join(f"{name:28} {' '.join(area.files)}" for name, area in AREAS.items()))
    for name in chosen.areas:
        folder = STAGES / name
        if gone := missing(AREAS[name]):
            sys.exit(f"{name}: {', '.join(gone)}: nothing there; mend the area in {Path(__file__).name}")
        stage(folder, AREAS[name], chosen.only)
        alive = STAGES / f"{name}.alive"
        names = alive.read_text().split() if chosen.again else []
        if chosen.part is not None:
            names = drawn(folder, chosen.part)
        mutmut(folder, "run", "--max-children", "1", *names)
        found = {each: outcome for each, outcome in outcomes(folder).items() if outcome != "not checked"}
        alive.write_text("\n".join(each for each, outcome in found.items() if outcome not in DEAD))
        print(f"# {name}", flush=True)
        report(folder, found, diffs=chosen.diffs)


if __name__ == "__main__":
    main(sys.argv[1:])
