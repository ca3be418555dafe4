from __future__ import annotations

import pytest
from multidict import CIMultiDict

from shareq.ops.console.guard import HEADERS, Rules, exposure, is_loopback, knows_token, refusal

TOKEN = "0123456789abcdef"
READ_ONLY = Rules(None, False, True)
CHANGES = Rules(TOKEN, False, True)
OPEN = Rules(TOKEN, True, False)
BEARER = f"Bearer {TOKEN}"
JSON = {"Content-Type": "application/json"}


def status(rules: Rules, method: str, path: str, **headers: str) -> int:
    given = CIMultiDict({"Host": "127.0.0.1:8080"})
    given.update({name.replace("_", "-"): value for name, value in headers.items()})
    refused = refusal(rules, method, path, given)
    return 200 if refused is None else refused.status


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:8080", "LOCALHOST"])
def test_loopback_has_its_names_at_any_port(host: str) -> None:
    """`ssh -L` uses another port."""
    assert status(READ_ONLY, "GET", "/", Host=host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1", "[::2]"]
)
def test_a_name_that_was_made_to_lead_here_is_refused(host: str) -> None:
    """With DNS rebinding the browser takes the console for a page of that site."""
    assert status(READ_ONLY, "GET", "/api/overview", Host=host) == 421
    assert status(READ_ONLY, "GET", "/", Host=host) == 421


def test_an_open_console_has_any_name_and_wants_the_token_for_everything_but_the_files() -> None:
    assert status(OPEN, "GET", "/", Host="console.example.com") == 200
    assert status(OPEN, "GET", "/api/session", Host="console.example.com") == 401
    assert status(OPEN, "GET", "/api/session", Host="console.example.com", Authorization=BEARER) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_and_ports_are_refused(site: str) -> None:
    assert status(CHANGES, "GET", "/api/overview", Sec_Fetch_Site=site) == 403
    assert status(CHANGES, "POST", "/api/redrive", Sec_Fetch_Site=site, Authorization=BEARER, **JSON) == 403


def test_an_address_that_is_typed_may_read_and_not_change() -> None:
    assert status(CHANGES, "GET", "/api/overview", Sec_Fetch_Site="none") == 200
    assert status(CHANGES, "POST", "/api/redrive", Sec_Fetch_Site="none", Authorization=BEARER, **JSON) == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:8081", "null"])
def test_an_origin_has_to_be_the_host(origin: str) -> None:
    """The browser does not send Sec-Fetch-Site here."""
    assert status(CHANGES, "POST", "/api/redrive", Origin=origin, Authorization=BEARER, **JSON) == 403
    assert status(CHANGES, "GET", "/api/overview", Origin=origin) == 403


def test_the_own_page_may_change_with_the_token() -> None:
    own = {"Origin": "http://127.0.0.1:8080", "Sec_Fetch_Site": "same-origin", **JSON}
    assert status(CHANGES, "POST", "/api/redrive", Authorization=BEARER, **own) == 200
    assert status(CHANGES, "POST", "/api/redrive", **own) == 401
    assert status(CHANGES, "POST", "/api/redrive", Authorization=f"{BEARER}x", **own) == 401
    assert status(CHANGES, "POST", "/api/redrive", Authorization=f"Basic {TOKEN}", **own) == 401


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_what_a_form_can_send_changes_nothing(kind: str) -> None:
    assert status(CHANGES, "POST", "/api/redrive", Authorization=BEARER, Content_Type=kind) == 415


def test_without_a_token_nothing_is_changed() -> None:
    assert status(READ_ONLY, "POST", "/api/redrive", Authorization=BEARER, **JSON) == 403
    assert status(READ_ONLY, "GET", "/api/overview") == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(method: str) -> None:
    assert status(CHANGES, method, "/api/redrive", Authorization=BEARER) == 405


def test_files_are_only_read() -> None:
    assert status(CHANGES, "POST", "/", Authorization=BEARER, **JSON) == 405


def test_a_token_counts_whatever_the_case_of_its_scheme() -> None:
    assert knows_token(CHANGES, {"Authorization": f"bearer {TOKEN} "})
    assert not knows_token(READ_ONLY, {"Authorization": "Bearer "})


def test_nothing_inline_and_nothing_from_elsewhere_runs_in_the_pages() -> None:
    policy = HEADERS["Content-Security-Policy"].split("; ")
    assert "default-src 'self'" in policy
    assert not [each for each in policy if "unsafe" in each or "http" in each or "*" in each]
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    ("loopback", "token", "logs_in", "refused"),
    [
        (True, None, False, False),
        (True, None, True, True),
        (False, None, False, True),
        (False, TOKEN, True, False),
        (True, TOKEN, True, False),
    ],
)
def test_who_could_see_too_much_keeps_a_console_from_starting(
    loopback: bool, token: str | None, logs_in: bool, refused: bool
) -> None:
    assert (exposure(loopback, token, logs_in) is not None) is refused


@pytest.mark.parametrize(
    ("name", "expected"), [("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("127.evil", False), ("::", False)]
)
def test_addresses_of_this_machine_alone(name: str, expected: bool) -> None:
    assert is_loopback(name) is expected
