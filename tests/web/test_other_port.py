"""A page of another port of this machine, in a real browser that is signed in: it has the cookie sent, and in vain."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect
from tests.web.looks import new_context
from tests.web.site import Site

pytestmark = pytest.mark.slow

SWITCH = "/api/v1/servers/desk/switch"
TRIES = """async ([gateway, path]) => {
  const to = gateway + path, body = JSON.stringify({enabled: false});
  const told = [];
  for (const how of [
    {method: 'POST', mode: 'no-cors', credentials: 'include', body},
    {method: 'POST', mode: 'cors', credentials: 'include', body, headers: {'content-type': 'application/json'}},
    {method: 'POST', mode: 'cors', credentials: 'include', body},
  ]) {
    try { const answer = await fetch(to, how); told.push(answer.type + ' ' + answer.status); }
    catch (error) { told.push('refused'); }
  }
  try { const read = await fetch(gateway + '/api/v1/status', {credentials: 'include'}); told.push(await read.text()); }
  catch (error) { told.push('refused'); }
  return told;
}"""
OWN = """async (path) => {
  const answer = await fetch(path, {
    method: 'POST', body: JSON.stringify({enabled: false}), headers: {'content-type': 'application/json'}});
  return answer.status;
}"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another page</title>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.behaviour("access.same_origin")
def test_a_page_of_another_port_changes_nothing_and_reads_nothing(
    browser: Browser, served: Site, elsewhere: str
) -> None:
    with new_context(browser) as made:
        page = made.new_page()
        page.goto(served.entrance)
        assert served.ask("GET", "/servers/desk")["active"]
        page.goto(elsewhere)
        assert page.evaluate(TRIES, [served.address, SWITCH]) == ["opaque 0", "refused", "refused", "refused"]
        page.set_content(
            f'<form method="post" enctype="text/plain" action="{served.address}{SWITCH}">'
            """<input name='{"enabled": false, "note": "' value='"}'><button>Win a prize</button></form>"""
        )
        page.get_by_role("button").click()
        expect(page.locator("body")).to_contain_text("Only pages of the gateway itself may do that")
        assert served.ask("GET", "/servers/desk")["active"]
        page.goto(f"{served.address}/ui/sign-in")
        assert page.evaluate(OWN, SWITCH) == 200, "the gateway's own page may"
        assert not served.ask("GET", "/servers/desk")["active"]
        served.ask("POST", "/servers/desk/switch", {"enabled": True})
        served.settle()


@pytest.mark.behaviour("ui.one_address")
def test_the_form_without_scripts_signs_in(browser: Browser, served: Site) -> None:
    with new_context(browser) as made:
        page = made.new_page()
        page.goto(f"{served.address}/ui/?login=wrong")
        assert page.url == f"{served.address}/ui/sign-in?used"
        page.get_by_label("Token").fill(served.token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{served.address}/ui/")
        cookies = made.cookies()
        assert [(one["httpOnly"], one["sameSite"], one["path"]) for one in cookies] == [(True, "Strict", "/")]
