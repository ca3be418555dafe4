"""Builds the documentation as a site in build/site/html/: `make docs`. A broken link or a missing page fails it.

The pages are those of the repository, and those that `scripts/reference.py --site` has made. They are copied with the
files that they link to (a source file becomes a page, a folder a list of its content), links are adapted, and `zensical
build --strict` makes HTML of them, which `scripts/check_site.py` looks at.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build" / "site"
LOOKS: Final = "docs/site"
_LINK: Final = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
_FENCE: Final = re.compile(r"(^ *(?:```|~~~).*?^ *(?:```|~~~) *$)", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_COPIED: Final = (".svg", ".png", ".css")
_LANGUAGES: Final = {
    ".py": "python",
    ".json": "json",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".java": "java",
    ".toml": "toml",
}
# Pages whose place in the site is not their place in docs/.
_PLACES: Final = {
    "docs/site/index.md": "index.md",
    "docs/README.md": "contents.md",
    "docs/evidence/README.md": "evidence/index.md",
    "docker/README.md": "container.md",
}

Tree = Sequence["str | Mapping[str, str | Tree]"]
"""A navigation: pages by their places, some with a title of their own, and sections by their titles."""


class Site:
    """The copied site.

    `pages`: texts by their places below the site's root; `files`: paths in `root` by their places.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pages: dict[str, str] = {}
        self.files: dict[str, str] = {}
        self.problems: list[str] = []

    def take(self, path: str) -> str:
        """Copy a file or folder of the repository with all that it links to, unless it is there; return its place."""
        place = self.place_of(path)
        if path.endswith(_COPIED):
            self.files[place] = path
        elif place not in self.pages:
            self.pages[place] = ""  # so that pages may link to each other
            self.pages[place] = self._page(path, place)
        return place

    def place_of(self, path: str) -> str:
        """Return a file's or folder's place in the site. Folders are pages, and so are source files."""
        if path in _PLACES:
            return _PLACES[path]
        if (self.root / path).is_dir():
            path = f"{path}/index.md"
        elif not path.endswith((".md", *_COPIED)):
            path = f"{path}.md"
        for folder in ("docs/", "build/"):
            if path.startswith(folder):
                return path.removeprefix(folder)
        return f"project/{path.lower()}" if "/" not in path else f"files/{path}"

    def _page(self, path: str, place: str) -> str:
        found = self.root / path
        if found.is_dir():
            return self._linked(f"{path}/", place, _list_of(found, path))
        if path.endswith(".md"):
            return self._linked(path, place, found.read_text())
        language = _LANGUAGES.get(found.suffix, "text")
        return f"# {path}\n\n``````{language}\n{found.read_text().rstrip()}\n``````\n"

    def _linked(self, path: str, place: str, text: str) -> str:
        """Return the page with its links changed to the targets' places in the site."""

        def link(found: re.Match[str]) -> str:
            before, target, after = found.groups()
            return before + self._target(path, place, target) + after

        parts = _FENCE.split(text)
        return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts))

    def _target(self, path: str, place: str, target: str) -> str:
        if re.match(r"[a-z]+:|#", target):
            return target
        file, hash_sign, anchor = target.partition("#")
        found = os.path.normpath(os.path.join(os.path.dirname(path), file))
        if found.startswith("..") or not (self.root / found).exists():
            self.problems.append(f"{path}: link to {target}: nothing there")
            return target
        return os.path.relpath(self.take(found), PurePosixPath(place).parent) + hash_sign + anchor


def title_of(text: str) -> str:
    """Return the first heading of a page."""
    found = _HEADING.search(text)
    return found[1] if found else ""


def _list_of(folder: Path, path: str) -> str:
    """Return a page about a folder: links to its pages, names of the rest."""
    names = sorted(each.name for each in folder.iterdir() if not each.name.startswith(("__", ".")))
    entries = [
        f"* [{title_of((folder / name).read_text())}]({name})" if name.endswith(".md") else f"* `{name}`"
        for name in names
    ]
    return "\n".join([f"# {path}/", "", *entries, ""])


def navigation(site: Site, wanted: Mapping[str, Any]) -> Tree:
    """Return docs/site/navigation.toml as places in the site, and copy its pages. A missing page is left out if it is
    awaited, else it is a problem. Pages of docs/ that are not named are added to the section with `rest`.
    """
    named = {page for section in wanted["section"] for page in _named(section)}
    rest = [path for path in _all_pages(site.root) if path not in named]
    covered = tuple(f"{folder}/" for section in wanted["section"] for folder in _whole_folders(section))
    rest = [path for path in rest if not path.startswith(covered)]
    tree: list[str | Mapping[str, str | Tree]] = []
    for section in wanted["section"]:
        entries = _entries(site, section, wanted)
        for part in section.get("part", ()):
            entries.append({part["title"]: _entries(site, part, wanted)})
        if section.get("rest") and rest:
            entries.append({"More": [site.take(path) for path in rest]})
        tree.append({section["title"]: entries})
    return tree


def _entries(site: Site, section: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str | Mapping[str, str | Tree]]:
    found: list[str | Mapping[str, str | Tree]] = []
    for page in _named(section, parts=False):
        if (site.root / page).exists():
            title, place = wanted["titles"].get(page), site.take(page)
            found.append({title: place} if title else place)
        elif page not in wanted["awaited"]:
            site.problems.append(f"{LOOKS}/navigation.toml: {page}: nothing there")
    if "all" in section:
        found += [site.take(path) for path in _all_pages(site.root) if path.startswith(f"{section['all']}/")]
    return found


def _named(section: Mapping[str, Any], parts: bool = True) -> Iterator[str]:
    yield from section.get("pages", ())
    for part in section.get("part", ()) if parts else ():
        yield from _named(part)


def _whole_folders(section: Mapping[str, Any]) -> Iterator[str]:
    for each in (section, *section.get("part", ())):
        if "all" in each:
            yield each["all"]


def _all_pages(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md"))


def toml(tree: str | Tree) -> str:
    """Return a navigation, or a page of it, as one value of TOML."""
    if isinstance(tree, str):
        return json.dumps(tree)
    entries = (
        toml(entry)
        if isinstance(entry, str)
        else ", ".join(f"{{ {json.dumps(title)} = {toml(part)} }}" for title, part in entry.items())
        for entry in tree
    )
    return f"[{', '.join(entries)}]"


def collect(root: Path) -> tuple[Site, Tree]:
    """Return all pages and files of the site, and its navigation. `problems` of the site has the problems found."""
    site = Site(root)
    tree = navigation(site, tomllib.loads((root / LOOKS / "navigation.toml").read_text()))
    site.take(f"{LOOKS}/extra.css")
    return site, tree


def write(site: Site, tree: Tree, build: Path) -> None:
    """Put everything where `zensical build` looks for it: `build`/source, beside its configuration."""
    shutil.rmtree(build, ignore_errors=True)
    for place, text in site.pages.items():
        target = build / "source" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for place, path in site.files.items():
        target = build / "source" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(site.root / path, target)
    shutil.copytree(site.root / LOOKS / "overrides", build / "overrides")
    looks = (site.root / LOOKS / "zensical.toml").read_text()
    (build / "zensical.toml").write_text(looks.replace("[project]\n", f"[project]\nnav = {toml(tree)}\n", 1))


def main() -> int:
    """Run the command; return 1 if there are problems."""
    site, tree = collect(ROOT)
    for problem in site.problems:
        print(problem)
    if site.problems:
        return 1
    write(site, tree, BUILD)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict"]
    return subprocess.run(command, cwd=BUILD, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
