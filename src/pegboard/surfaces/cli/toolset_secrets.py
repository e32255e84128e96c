"""`pegboard toolset secrets …`: the values of secrets that toolsets ask for. They are typed or piped, never argued."""

import sys

import click

from .link import Api
from .options import asked, asks, toolset_path
from .output import Exit, document, fail, say
from .text import table


@click.group("secrets")
def secrets() -> None:
    """The secrets that toolsets ask for: kept encrypted, and never shown."""


@secrets.command("list")
@click.argument("toolset")
@asks()
async def list_secrets(api: Api, toolset: str, *, as_json: bool) -> None:
    """The secrets that a toolset asks for, and whether each is set."""
    body = await asked(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        document({"toolset": body["id"], "secrets": body["secrets"]})
        return
    if not body["secrets"]:
        say(f"{body['id']} asks for no secrets.")
        return
    say(table(("SECRET", ""), [(one["name"], "set" if one["set"] else "not set") for one in body["secrets"]]))


@secrets.command("set")
@click.argument("toolset")
@click.argument("name")
@asks()
async def set_secret(api: Api, toolset: str, name: str, *, as_json: bool) -> None:
    """Set one: asked for at a terminal, else read from standard input.

    The value may be a reference, ${VARIABLE} or ${file:PATH}: then it is read when it is used.
    """
    path = _path(toolset, name)
    value = _value(name)
    body = await asked(api, "PUT", path, body={"value": value})
    document(body) if as_json else say(f"{name} of {toolset} is set.")


@secrets.command("forget")
@click.argument("toolset")
@click.argument("name")
@asks()
async def forget(api: Api, toolset: str, name: str, *, as_json: bool) -> None:
    """Forget one. What needs it does not start any more."""
    body = await asked(api, "DELETE", _path(toolset, name))
    document(body) if as_json else say(f"{name} of {toolset} is forgotten.")


def _path(toolset: str, name: str) -> str:
    if not name.replace("_", "").isalnum() or not name.isascii():
        fail(Exit.NOT_FOUND, f"{name!r} is no name of a secret. See: pegboard toolset secrets list {toolset}")
    return f"/toolsets/{toolset_path(toolset)}/secrets/{name}"


def _value(name: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(name, hide_input=True, err=True)
        return value
    try:
        value = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        fail(Exit.USAGE, f"standard input is not UTF-8 text, from byte {error.start} on")
    # `echo` and editors end a line that is no part of the value.
    value = value.removesuffix("\n").removesuffix("\r")
    if not value:
        fail(Exit.USAGE, "standard input is empty. Pipe the value in, or run this at a terminal.")
    return value
