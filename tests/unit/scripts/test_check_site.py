"""The check of a built site finds its faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check_site import problems_of

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self'">"""


def problems(tmp_path: Path, body: str, policy: str = POLICY) -> list[str]:
    """Return the problems of a site of two pages, a style and a picture. The other page has the heading `here`."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.html").write_text(f'{POLICY}<h1 id="here">B</h1><a href="../a.html">a</a>')
    (tmp_path / "s.css").write_text("a { background: url(p.png) } b { background: url('data:image/png;base64,AA') }")
    (tmp_path / "p.png").write_text("")
    (tmp_path / "a.html").write_text(policy + body)
    return list(problems_of(tmp_path))


def test_a_sound_site_has_none(tmp_path: Path) -> None:
    body = (
        '<link rel="stylesheet" href="s.css"><img src="p.png"><img src="data:image/png;base64,AA"><p id="top">'
        '<a href="deep/b.html#here">b</a><a href="#top">t</a><a href="https://example.com/x#y">elsewhere</a>'
        '<a href="mailto:a@b">m</a>'
    )
    assert problems(tmp_path, body) == []


@pytest.mark.parametrize(
    "body",
    [
        '<script src="https://cdn.example.com/x.js"></script>',
        '<link rel="preconnect" href="//fonts.example.com">',
        '<img src="http://example.com/p.png">',
        '<iframe src="https://example.com/"></iframe>',
        '<p style="background: url(https://example.com/p.png)">',
        '<img srcset="p.png 1x, https://example.com/p.png 2x">',
    ],
)
def test_what_a_browser_would_ask_another_host_for(tmp_path: Path, body: str) -> None:
    (problem,) = problems(tmp_path, body)
    assert problem.startswith("a.html: loads ")
    assert "example.com" in problem


def test_a_style_that_asks_another_host(tmp_path: Path) -> None:
    (tmp_path / "more.css").write_text('@import "https://fonts.example.com/css"; a { background: url("gone.png") }')
    assert problems(tmp_path, "") == [
        "more.css: loads https://fonts.example.com/css",
        "more.css: link to gone.png: nothing there",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "a.html: link to gone.html: nothing there"),
        ('<a href="deep/b.html#away">x</a>', "a.html: link to deep/b.html#away: no such heading"),
        ('<a href="#away">x</a>', "a.html: link to #away: no such heading"),
        ('<img src="gone.png">', "a.html: link to gone.png: nothing there"),
    ],
)
def test_a_link_to_nothing(tmp_path: Path, body: str, problem: str) -> None:
    assert problems(tmp_path, body) == [problem]


def test_a_page_that_lets_the_browser_ask_anyone(tmp_path: Path) -> None:
    assert problems(tmp_path, "", policy="") == ["a.html: does not keep the browser from other hosts"]


def test_an_empty_folder_is_no_site(tmp_path: Path) -> None:
    assert list(problems_of(tmp_path)) == [f"{tmp_path}: no pages"]
