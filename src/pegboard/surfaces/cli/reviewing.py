"""`pegboard servers review|release`: a server in quarantine, looked at once and let out."""

import shlex
import sys
from typing import Any

import click

from .agreeing import ask_yes_no
from .link import ApiClient
from .options import call_api, gateway_command, named_server, server_path
from .output import Exit, fail, print_json, print_text
from .reviews import risk_lines
from .starting import state_sentence, wait_until_settled
from .text import one_line


@click.command("review")
@click.argument("server")
@click.option("--start", is_flag=True, help="Start it once without asking, to see what it lists.")
@gateway_command(named_server)
async def review(api: ApiClient, server: str, start: bool, *, as_json: bool) -> None:
    """What a server in quarantine is, and what it would bring.

    To see its tools it has to be started: once, aside from the board, and it is stopped again. You are shown what
    would run, and asked.
    """
    path = server_path(server)
    body = await call_api(api, "GET", f"/servers/{path}")
    if not body["review"]:
        key = body["id"]
        fail(Exit.REFUSED, f"{key} is not in quarantine. What waits of it: pegboard approvals list --server {key}")
    if not as_json:
        print_text(_describe_server(body))
    if not start and (as_json or not sys.stdin.isatty() or not await ask_yes_no("\nStart it once to see its tools?")):
        print_json(body) if as_json else print_text(f"\nIt was not started. To see its tools: {_review_command(body)}")
        return
    # By what was shown: somebody may have put another program in its place meanwhile.
    read = {"read": body["mark"]}
    found = await call_api(api, "POST", f"/servers/{path}/review", body=read, waiting=f"{body['id']} to answer")
    if as_json:
        print_json(found)
    else:
        print_text(_tool_lines(found))
    if not found["answered"]:
        fail(Exit.FAILED, f"{found['id']} did not come up: {found['health']['sentence']}", {"id": found["id"]})


@click.command("release")
@click.argument("server")
@click.option("--read", help="What servers review ended with: if the server is another one by now, it stays in.")
@gateway_command()
async def release(api: ApiClient, server: str, read: str | None, *, as_json: bool) -> None:
    """Let a server out of quarantine. It is started, and every tool it lists waits for your approval.

    At a terminal you are shown what will run, and asked, unless you name what you read.
    """
    path = server_path(server)
    if read is None and not as_json and sys.stdin.isatty():
        read = await _ask_release(await call_api(api, "GET", f"/servers/{path}"))
    said = None if read is None else {"read": read}
    body = await wait_until_settled(api, await call_api(api, "POST", f"/servers/{path}/release", body=said))
    if as_json:
        print_json(body)
        return
    print_text(f"{body['id']} is out of quarantine.{state_sentence(body, api)}")
    if body["trust"] != "open":
        print_text(f"Its tools wait for you: pegboard approvals list --server {body['id']}")


async def _ask_release(body: dict[str, Any]) -> str | None:
    if body["review"]:
        print_text(_describe_server(body))
        if body["trust"] != "strict":
            print_text(
                "\nIts prompts and resources, if it has any, pass from then on; only the trust strict withholds them."
            )
        if not await ask_yes_no("\nLet it out of quarantine and start it?"):
            fail(Exit.REFUSED, "not released; nothing was changed.")
    return str(body["mark"])


def _describe_server(body: dict[str, Any]) -> str:
    """What would run, in the words of whoever added it; secrets are masked."""
    connection = body["connection"]
    rows = [f"  {name}: {value}" for name, value in connection.items() if value not in (None, [], {}, "")]
    origin = body["origin"]
    by = f"  added by {origin['by']} on {origin['at'][:10]}" if origin["kind"] == "installed" else ""
    return "\n".join([body["id"], f"  {body['review']}", *([by] if by else []), *rows, f"  trust: {body['trust']}"])


def _review_command(body: dict[str, Any]) -> str:
    return f"pegboard servers review {shlex.quote(body['id'])} --start"


def _parameter_lines(found: list[dict[str, Any]]) -> list[str]:
    lines = ["takes"] if found else ["takes nothing that it names"]
    for each in found:
        needed = ", required" if each["required"] else ""
        told = f": {each['description']}" if each["description"] else ""
        lines.append(f"  {each['name']}{needed}  {each['schema']}{told}")
    return lines


def _tool_lines(body: dict[str, Any]) -> str:
    lines: list[str] = []
    for tool in body["tools"]:
        lines.append(f"\n{one_line(tool['name'])}")
        lines += [f"  {tool['description']}"] if tool["description"] else []
        lines += [f"  {line}" for line in _parameter_lines(tool["parameters"])]
        lines += [f"  says of itself  {tool['annotations']}"] if tool["annotations"] else []
        lines += [f"  {line}" for line in risk_lines(tool["notes"], tool["cautions"])]
    for flaw in body["flaws"]:
        lines.append(f"\nIt {one_line(flaw['sentence'])}")
    key = body["id"]
    if body["answered"]:
        lines.append(f"\nIt lists {len(body['tools'])} tools, and was stopped again.")
        lines.append(f"Let it out, to approve them one by one:  pegboard servers release {key} --read {body['mark']}")
    lines.append(f"If you do not want it:  pegboard servers remove {key}")
    return "\n".join(lines)
