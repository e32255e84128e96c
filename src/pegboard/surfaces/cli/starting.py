"""A server that was just started, watched until it has answered or failed."""

from typing import Any

from pegboard.config.places import CONFIG_FILE_NAME

from .client import SETTLE_TIMEOUT_S
from .link import ApiClient
from .options import call_api
from .output import Exit, fail, print_json, print_text
from .text import one_line


async def wait_until_settled(api: ApiClient, server: dict[str, Any]) -> dict[str, Any]:
    """The server as it is once it is up or down. Without a running gateway there is nothing to wait for."""
    if not api.is_running or not server["on"]:
        return server
    params = [("settle", str(SETTLE_TIMEOUT_S))]
    return await call_api(api, "GET", f"/servers/{server['id']}", params=params, waiting=f"{server['id']} to start")


def tool_count_text(server: dict[str, Any]) -> str:
    """How many of its tools can be called; how many are locked, and by what; how many are not on this board."""
    tools, absent = server["tools"], server["absentTools"]
    locked = [f"{count} {status}" for status, count in tools.items() if status != "callable"]
    return ", ".join([f"{tools['callable']} callable", *locked, *([f"{absent} not selected"] if absent else [])])


def state_sentence(server: dict[str, Any], api: ApiClient) -> str:
    """What follows the news that it was added or switched on, as a sentence of its own."""
    if server["review"]:
        return f"\n{server['review']} Look at it: pegboard servers review {server['id']}"
    if not api.is_running:
        return " It starts with the gateway: pegboard serve" if server["on"] else ""
    match server["health"]["state"]:
        case "up":
            why = f"\nThe board's selection leaves tools of it out: see selection: in {CONFIG_FILE_NAME}"
            return f" It is up: {tool_count_text(server)}.{why if server['absentTools'] else ''}"
        case "down":
            told = one_line(server["health"]["sentence"]).rstrip(".")
            return f"\nIt is down: {told}.{_logs_hint(server)}"
        case "needs_sign_in":
            return f"\nIt needs a sign-in: pegboard servers sign-in {server['id']}"
        case "starting":
            return " It has not answered yet. See: pegboard servers list"
        case _:
            return ""


def print_server_result(
    api: ApiClient, server: dict[str, Any], done: str, body: dict[str, Any], *, as_json: bool
) -> None:
    """Ends the command in failure when the server that was to be up is not: who scripts it must know."""
    told = f"{done}{state_sentence(server, api)}"
    if api.is_running and server["health"]["state"] in ("down", "needs_sign_in", "starting"):
        fail(Exit.FAILED, told, {"id": server["id"], "health": server["health"]})
    print_json(body) if as_json else print_text(told)


def _logs_hint(server: dict[str, Any]) -> str:
    """Only a program of ours has an error stream that we could show."""
    if server["connection"]["transport"] == "stdio":
        return f"\nSee: pegboard servers logs {server['id']}"
    return "\nIt is tried again by itself." if server["health"].get("retryAt") else ""
