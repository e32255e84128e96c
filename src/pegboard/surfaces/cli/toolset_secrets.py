"""`pegboard toolset secrets …`: the values of secrets that toolsets ask for. They are typed or piped, never argued."""

import sys

import click

from .link import ApiClient
from .options import call_api, gateway_command, toolset_path
from .output import Exit, fail, print_json, print_text
from .text import table


@click.group("secrets")
def secrets() -> None:
    """The secrets that toolsets ask for: kept encrypted, and never shown."""


@secrets.command("list")
@click.argument("toolset")
@gateway_command()
async def list_secrets(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """The secrets that a toolset asks for, and whether each is set."""
    body = await call_api(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        print_json({"toolset": body["id"], "secrets": body["secrets"]})
        return
    if not body["secrets"]:
        print_text(f"{body['id']} asks for no secrets.")
        return
    print_text(table(("SECRET", ""), [(one["name"], "set" if one["set"] else "not set") for one in body["secrets"]]))


@secrets.command("set")
@click.argument("toolset")
@click.argument("name")
@gateway_command()
async def set_secret(api: ApiClient, toolset: str, name: str, *, as_json: bool) -> None:
    """Set one: asked for at a terminal, else read from standard input.

    The value may be a reference, ${VARIABLE} or ${file:PATH}: then it is read when it is used.
    """
    path = _secret_path(toolset, name)
    value = _read_value(name)
    body = await call_api(api, "PUT", path, body={"value": value})
    print_json(body) if as_json else print_text(f"{name} of {toolset} is set.")


@secrets.command("forget")
@click.argument("toolset")
@click.argument("name")
@gateway_command()
async def forget(api: ApiClient, toolset: str, name: str, *, as_json: bool) -> None:
    """Forget one. What needs it does not start any more."""
    body = await call_api(api, "DELETE", _secret_path(toolset, name))
    print_json(body) if as_json else print_text(f"{name} of {toolset} is forgotten.")


def _secret_path(toolset: str, name: str) -> str:
    if not name.replace("_", "").isalnum() or not name.isascii():
        fail(Exit.NOT_FOUND, f"{name!r} is no name of a secret. See: pegboard toolset secrets list {toolset}")
    return f"/toolsets/{toolset_path(toolset)}/secrets/{name}"


def _read_value(name: str) -> str:
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
