"""Pages without a script: signing in, and what to do where the UI was not built."""

from html import escape
from typing import Final

STYLE_NAME: Final = "plain.css"
STYLE: Final = """:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1rem }
code { font-family: ui-monospace, monospace }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin: .25rem 0 1rem }
button { font: inherit; padding: .5rem 1.25rem }
[role=alert] { border-left: .25rem solid currentColor; padding-left: .75rem }
"""
FRAME_NAME: Final = "frame"
FRAME_POLICY: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; webrtc 'block'"
)
"""For the frame that shows a tool's page: an origin of its own, no network, no forms, no other windows. The page is
written into this document, so the policy holds for it. Leaving the frame by navigation is refused by the policy of the
web UI around it, whose `default-src 'self'` counts for frames."""
FRAME: Final = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>The page of a tool</title>
<script>
addEventListener("message", function receive(event) {
  if (window === parent || event.source !== parent) return;
  var given = event.data;
  if (typeof given !== "object" || given === null || typeof given.html !== "string") return;
  removeEventListener("message", receive);
  if (given.runs !== true) {
    var inner = document.createElement("iframe");
    inner.setAttribute("sandbox", "");
    inner.setAttribute("title", document.title);
    inner.srcdoc = given.html;
    inner.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
    document.body.appendChild(inner);
    return;
  }
  delete window.RTCPeerConnection;
  delete window.webkitRTCPeerConnection;
  window.__TOOL_DATA__ = given.data;
  document.open();
  document.write(given.html);
  document.close();
});
</script>
</head>
<body></body>
</html>
"""
"""Waits for one message of the web UI: `html`, whether its scripts run, and `data` for them. A page that a tool
returned runs none: it is shown in a frame within the frame that has the same policy and no scripts. Few browsers know
the directive `webrtc`, so peer connections are taken from the page as well."""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pegboard: {title}</title>
<link rel="stylesheet" href="/ui/{style}">
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
_FORM: Final = """<form method="post" action="/ui/sign-in" autocomplete="off">
<label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus>
<button>Sign in</button>
</form>
<p>Paste the start-up token, or an API token with the scope read, operate or admin. On the machine that runs the
gateway, <code>pegboard ui</code> prints an address that needs none of this.</p>"""


_OTHER_SESSION: Final = """<p>This browser is signed in as <strong>{who}</strong>.</p>
<form method="post" action="/ui/sign-in" autocomplete="off">
<input name="login" type="hidden" value="{code}">
<button>Sign in as the operator of this machine instead</button>
</form>
<p><a href="/ui/">Stay signed in as {who}</a></p>"""


def html_page(title: str, body: str) -> bytes:
    return _PAGE.format(title=escape(title), body=body, style=STYLE_NAME).encode()


def other_session_page(who: str, code: str) -> bytes:
    return html_page("Sign in as somebody else?", _OTHER_SESSION.format(who=escape(who), code=escape(code)))


def sign_in_page(why: str | None) -> bytes:
    told = "" if why is None else f'<p role="alert">{escape(why)}</p>\n'
    return html_page("Sign in", f"{told}{_FORM}")


def unbuilt_page() -> bytes:
    return html_page(
        "The pages are not built yet",
        "<p>This gateway runs, and its API and MCP endpoint answer. The pages of the UI were not built on this "
        "machine. In the folder that you cloned, run</p>\n<pre><code>make ui</code></pre>\n"
        "<p>and load this page again. A package that was installed without them was built with "
        "<code>PEGBOARD_WITHOUT_PAGES=1</code>: build it again without that.</p>",
    )


def message_page(title: str, text: str) -> bytes:
    return html_page(title, f"<p>{escape(text)}</p>")
