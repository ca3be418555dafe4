"""Check that the built site (build/site/html/, or the folder given) holds together, and loads nothing from other hosts.

On every page: each link and picture leads to a file here, and each anchor to an id in it; what a browser loads by
itself (scripts, styles, pictures, fonts, frames) is here, too; the page forbids it to load anything from elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
LOADED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "use": "href",
}
_URL = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')\s]+)""")


class Page(HTMLParser):
    """The parts of a page that matter.

    `loads` and `links`: attributes, unchanged; `policies`: rules for loading.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.policies: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and loads of one element."""
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADED.get(tag, "-") in values:
            self.loads.append(values[LOADED[tag]])
        self.loads += _URL.findall(values.get("style", ""))
        self.loads += [part.split()[0] for part in values.get("srcset", "").split(",") if part.strip()]
        if values.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(values["content"])


def problems_of(site: Path) -> Iterator[str]:
    """Yield one line for each problem. `site` is the folder with the built pages."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        yield f"{site}: no pages"
    for path in pages:
        page = _page(path)
        where = path.relative_to(site)
        if not any("default-src 'self'" in policy for policy in page.policies):
            yield f"{where}: does not keep the browser from other hosts"
        for target in page.loads:
            yield from _loaded(site, path, target)
        for target in page.links:
            if not urlsplit(target).scheme and not target.startswith("//"):
                yield from _missing(site, path, target)
    for style in sorted(site.rglob("*.css")):
        for target in _URL.findall(style.read_text()):
            yield from _loaded(site, style, target)


def _loaded(site: Path, path: Path, target: str) -> Iterator[str]:
    if target.startswith("data:"):
        return
    if urlsplit(target).netloc or urlsplit(target).scheme:
        yield f"{path.relative_to(site)}: loads {target}"
    else:
        yield from _missing(site, path, target)


def _missing(site: Path, path: Path, target: str) -> Iterator[str]:
    parts = urlsplit(target)
    folder = site if parts.path.startswith("/") else path.parent  # 404.html knows only where the site begins
    end = folder / unquote(parts.path).lstrip("/") if parts.path else path
    end = end / "index.html" if end.is_dir() else end
    anchor = unquote(parts.fragment)
    if not end.exists():
        yield f"{path.relative_to(site)}: link to {target}: nothing there"
    elif anchor and end.suffix == ".html" and anchor not in _page(end).ids and not anchor.startswith("__"):
        yield f"{path.relative_to(site)}: link to {target}: no such heading"


@cache
def _page(path: Path) -> Page:
    return Page(path.read_text())


def main() -> int:
    """Run the command; return 1 if there are problems."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site" / "html"
    problems = list(problems_of(site))
    for problem in problems:
        print(problem)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
