"""`pegboard servers sign-in` and `sign-out`: a person's own rights at a server, lent to the gateway."""

from datetime import datetime
from typing import Any, Final

import anyio
import click

from .link import ApiClient
from .options import call_api, gateway_command, named_server, server_path
from .output import Exit, fail, print_json, print_progress, print_text
from .starting import print_server_result, wait_until_settled

SIGN_IN_TIMEOUT_S: Final = 1_200.0
"""Seconds: as long as a link and a page together last."""
START_TIMEOUT_S: Final = 10.0
_POLL_INTERVAL_S: Final = 0.5


@click.command("sign-in")
@click.argument("server")
@click.option("--open", "opens", is_flag=True, help="Open the link in your browser.")
@gateway_command(named_server, listens=True)
async def sign_in(api: ApiClient, server: str, opens: bool, *, as_json: bool) -> None:
    """Sign in to a server that asks for it: prints a link to open in a browser, and waits until you have.

    Ends with 1 when nobody signs in or the server does not come up then.

    Without a running gateway the link leads to this command itself; a gateway that runs later is signed in.
    """
    path = server_path(server)
    begun = await call_api(api, "POST", f"/servers/{path}/sign-in", body={})
    (print_progress if as_json else print_text)(
        f"Open this link in your browser to sign in to {begun['id']}:\n\n  {begun['url']}\n"
    )
    if opens and click.launch(begun["url"]):
        print_progress("! No browser could be opened. Open the link yourself.")
    print_progress("  … waiting for you; Ctrl-C gives up")
    state = await _wait_for_sign_in(api, path, begun)
    done = f"Signed in to {state['id']}."
    if not api.is_running:
        # Nothing runs here that could be up: a gateway that runs later is signed in.
        print_json(state) if as_json else print_text(done)
        return
    shown = await _wait_until_up(api, path, datetime.fromisoformat(state["last"]))
    print_server_result(api, shown, done, {**state, "health": shown["health"]}, as_json=as_json)


@click.command("sign-out")
@click.argument("server")
@gateway_command(named_server)
async def sign_out(api: ApiClient, server: str, *, as_json: bool) -> None:
    """Forget the sign-in to a server, and have the server forget it too where it can be told."""
    path = server_path(server)
    before = await call_api(api, "GET", f"/servers/{path}/sign-in")
    body = await call_api(api, "DELETE", f"/servers/{path}/sign-in")
    print_json(body) if as_json else print_text(f"{_sign_out_text(body, before['last'] is not None)}")


def _sign_out_text(body: dict[str, Any], known: bool) -> str:
    if body["revoked"]:
        return f"Signed out of {body['id']}. Its authorization server has forgotten the sign-in too."
    if not known:
        return f"Nobody was signed in to {body['id']}."
    there = "Its authorization server could not be told: to end the access there too, revoke it in your account there."
    return f"Signed out of {body['id']}. {there}"


async def _wait_until_up(api: ApiClient, path: str, signed_in: datetime) -> dict[str, Any]:
    """The sign-in is known before the server has taken it up. One that asks for another since did not take it."""
    shown = await wait_until_settled(api, await call_api(api, "GET", f"/servers/{path}"))
    with anyio.move_on_after(START_TIMEOUT_S):
        while _needs_older_sign_in(signed_in, shown["health"]):
            await anyio.sleep(_POLL_INTERVAL_S)
            shown = await wait_until_settled(api, shown)
    return shown


def _needs_older_sign_in(signed_in: datetime, health: dict[str, Any]) -> bool:
    return health["state"] == "needs_sign_in" and datetime.fromisoformat(health["since"]) <= signed_in


async def _wait_for_sign_in(api: ApiClient, path: str, begun: dict[str, Any]) -> dict[str, Any]:
    with anyio.move_on_after(SIGN_IN_TIMEOUT_S):
        while True:
            state = await call_api(api, "GET", f"/servers/{path}/sign-in")
            if state["last"] not in (None, begun["last"]):
                return state
            if state["trouble"] not in (None, begun["trouble"]):
                fail(Exit.FAILED, str(state["trouble"]))
            await anyio.sleep(_POLL_INTERVAL_S)
    fail(Exit.FAILED, f"nobody signed in to {begun['id']} in time. Try again: pegboard servers sign-in {begun['id']}")
