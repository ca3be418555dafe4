"""The hosting site's files: workflows parse, run existing targets, and pin actions by commit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").iterdir())


def parsed(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text())
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in parsed(path)["jobs"].values() for step in job["steps"]]


def test_there_are_workflows_and_no_other_files() -> None:
    assert {path.name for path in WORKFLOWS} >= {"checks.yaml", "codeql.yaml", "release.yaml", "scorecard.yaml"}
    assert all(path.suffix == ".yaml" for path in WORKFLOWS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_begins_with_few_rights_and_ends_in_time(path: Path) -> None:
    found = parsed(path)
    assert found["name"] == path.stem
    assert found[True], "`on` is true to YAML"
    assert "pull_request_target" not in found[True]
    assert found["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in found["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_their_commit(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert len(used) == sum("uses" in step for step in steps(path)) > 0
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action), action


def test_an_action_has_one_commit_everywhere() -> None:
    """Paths below a repository (`codeql-action/init`) are pinned to the same commit, too."""
    found: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for owner, name, commit in re.findall(r"uses: ([\w-]+)/([\w-]+)[\w/-]*@(.*)", path.read_text()):
            found.setdefault(f"{owner}/{name}", set()).add(commit)
    assert {name: commits for name, commits in found.items() if len(commits) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_makes_is_a_target(path: Path) -> None:
    targets = set(re.findall(r"^([a-z][\w-]*)[\w -]*:", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps(path):
        command = step.get("run", "")
        assert "${{" not in command, "what others may set is given in the environment"
        for target in re.findall(r"^\s*make ([\w-]+)", command, re.MULTILINE):
            assert target in targets, target


def test_the_release_is_built_by_the_targets_that_are_tried_here() -> None:
    made = [
        re.findall(r"^make [a-z -]+[a-z]", step["run"])[0]
        for step in steps(GITHUB / "workflows" / "release.yaml")
        if step.get("run", "").startswith("make ")
    ]
    assert made == ["make release-check", "make dist", "make wheels", "make dist deb"]


def test_the_matrix_has_the_oldest_python_that_is_supported() -> None:
    matrix = parsed(GITHUB / "workflows" / "checks.yaml")["jobs"]["check-and-test"]["strategy"]["matrix"]
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert oldest is not None
    assert matrix["python"][0] == oldest[1]


@pytest.mark.parametrize("path", [path for path in FORMS if path.suffix == ".yaml"], ids=lambda path: path.name)
def test_a_form_asks_for_what_it_needs(path: Path) -> None:
    found = parsed(path)
    assert found["name"]
    assert found["description"]
    fields = [field for field in found["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_what_is_updated_for_us_exists() -> None:
    for update in parsed(GITHUB / "dependabot.yml")["updates"]:
        assert (ROOT / update["directory"].lstrip("/")).is_dir()
