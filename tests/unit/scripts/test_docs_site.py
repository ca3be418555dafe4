"""The site assembled by `make docs`, and its refusals. The tool that renders HTML does not run here."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts import docs_site
from scripts.docs_site import Site, Tree, collect, navigation, toml, write

ROOT = Path(__file__).resolve().parents[3]


def leaves(tree: str | Tree) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    found: list[str] = []
    for entry in tree:
        for part in [entry] if isinstance(entry, str) else entry.values():
            found += leaves(part)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "docs/a.md": "# A\n\n"
        "[b](deep/b.md#here), [the code](../code/run.py), [all of it](../code), ![p](p.svg), [x](#a)\n",
        "docs/deep/b.md": "# B\n\n## Here\n\n"
        "[back](../a.md) [web](https://example.com)\n\n```md\n[not a link](none.md)\n```\n",
        "docs/p.svg": "<svg/>",
        "code/run.py": "print()\n",
        "code/notes.md": "# Notes\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_page_takes_along_what_it_links_to(root: Path) -> None:
    site = Site(root)
    assert site.take("docs/a.md") == "a.md"
    assert site.problems == []
    assert site.pages.keys() == {
        "a.md",
        "deep/b.md",
        "files/code/run.py.md",
        "files/code/index.md",
        "files/code/notes.md",
    }
    assert site.files == {"p.svg": "docs/p.svg"}
    links = (
        "[b](deep/b.md#here), [the code](files/code/run.py.md), [all of it](files/code/index.md), ![p](p.svg), [x](#a)"
    )
    assert links in site.pages["a.md"]
    assert "[back](../a.md) [web](https://example.com)" in site.pages["deep/b.md"]


def test_source_files_and_folders_are_pages(root: Path) -> None:
    site = Site(root)
    site.take("docs/a.md")
    assert site.pages["files/code/run.py.md"] == "# code/run.py\n\n``````python\nprint()\n``````\n"
    assert site.pages["files/code/index.md"] == "# code/\n\n* [Notes](notes.md)\n* `run.py`\n"


def test_what_stands_in_a_block_is_no_link(root: Path) -> None:
    site = Site(root)
    site.take("docs/deep/b.md")
    assert "[not a link](none.md)" in site.pages["deep/b.md"]
    assert site.problems == []


@pytest.mark.parametrize("target", ["none.md", "../../outside.md", "../code/gone.py"])
def test_a_link_to_nothing_is_a_problem(root: Path, target: str) -> None:
    (root / "docs" / "a.md").write_text(f"# A\n\n[x]({target})\n")
    site = Site(root)
    site.take("docs/a.md")
    assert site.problems == [f"docs/a.md: link to {target}: nothing there"]


def test_a_page_that_is_named_must_exist_unless_it_is_awaited(root: Path) -> None:
    site = Site(root)
    wanted = {
        "awaited": ["docs/later.md"],
        "titles": {"docs/a.md": "First"},
        "section": [{"title": "S", "pages": ["docs/a.md", "docs/later.md", "docs/c.md"]}],
    }
    assert navigation(site, wanted) == [{"S": [{"First": "a.md"}]}]
    assert site.problems == ["docs/site/navigation.toml: docs/c.md: nothing there"]
    (root / "docs" / "later.md").write_text("# Later\n")
    assert navigation(Site(root), wanted) == [{"S": [{"First": "a.md"}, "later.md"]}]


def test_pages_that_nothing_names_are_found_at_the_end_of_a_section(root: Path) -> None:
    first = {"title": "S", "pages": ["docs/a.md"], "rest": True}
    wanted = {"awaited": [], "titles": {}, "section": [first]}
    assert navigation(Site(root), wanted) == [{"S": ["a.md", {"More": ["deep/b.md"]}]}]
    wanted["section"] = [first, {"title": "T", "part": [{"title": "P", "all": "docs/deep"}]}]
    assert navigation(Site(root), wanted) == [{"S": ["a.md"]}, {"T": [{"P": ["deep/b.md"]}]}]


def test_a_navigation_is_written_as_it_is() -> None:
    tree: Tree = ["index.md", {'a "word"': ["b.md", {"c": []}, {"D": "d.md"}]}]
    assert tomllib.loads(f"nav = {toml(tree)}") == {"nav": tree}


def test_every_page_of_the_documentation_is_in_the_navigation_once(tmp_path: Path) -> None:
    site, tree = collect(ROOT)
    assert site.problems == []
    pages = {site.place_of(str(path.relative_to(ROOT))) for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(leaves(tree))
    assert len(leaves(tree)) == len(set(leaves(tree)))
    write(site, tree, tmp_path / "site")
    looks = tomllib.loads((tmp_path / "site" / "zensical.toml").read_text())["project"]
    assert looks["nav"] == tree
    assert looks["theme"]["font"] is False
    for place in leaves(tree):
        assert docs_site.title_of((tmp_path / "site" / "source" / place).read_text()), place
