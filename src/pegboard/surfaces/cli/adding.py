"""`pegboard servers add`: a server installed by a person, as they would start it here."""

from pathlib import Path
from typing import Any

import click

from pegboard.config.masking import is_secret_key
from pegboard.config.references import is_only_references

from .link import Api
from .options import asked, asks
from .output import document, say, tell
from .pairs import pairs
from .starting import settled, state_now


@click.command("add")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="Reach a server at this URL instead of starting a command.")
@click.option(
    "--transport", type=click.Choice(["http", "sse"]), help="How the server at the URL speaks.  [default: http]"
)
@click.option(
    "--header", "headers", multiple=True, callback=pairs, help="NAME=VALUE, sent with every request. May be repeated."
)
@click.option("--env", multiple=True, callback=pairs, help="NAME=VALUE for the command's environment. May be repeated.")
@click.option(
    "--cwd",
    type=click.Path(file_okay=False),
    help="The folder the command starts in.  [default: this folder, if the command names a file in it]",
)
@click.option("--toolset", help="The toolset it belongs to.  [default: NAME]")
@click.option(
    "--trust",
    type=click.Choice(["open", "baseline", "strict"]),
    default="baseline",
    show_default=True,
    help="When its tools wait for approval: never, when new or changed after first sight, always.",
)
@asks()
async def add(
    api: Api,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    transport: str | None,
    headers: dict[str, str],
    env: dict[str, str],
    cwd: str | None,
    toolset: str | None,
    trust: str,
    *,
    as_json: bool,
) -> None:
    """Install a server: pegboard servers add NAME -- COMMAND ARGS…, or with --url.

    Secrets are best given as references, which are read when the server starts: --env 'TOKEN=${MY_TOKEN}'.
    """
    said: dict[str, Any] = {
        "toolset": toolset,
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "env": env,
        "cwd": _folder(command, cwd),
        "url": url,
        "transport": transport,
        "headers": headers,
    }
    given = {key: value for key, value in said.items() if value}
    body = {"id": name, "trust": trust, "folder": str(Path.cwd()), **given}
    _warn_of_secrets({**env, **headers})
    added = await settled(api, await asked(api, "POST", "/servers", body=body))
    for warning in added.get("warnings", []):
        tell(f"! {warning}")
    document(added) if as_json else say(f"Added {added['id']}.{state_now(added, api)}")


def _folder(command: tuple[str, ...], said: str | None) -> str | None:
    """A gateway runs in a folder of its own, so whoever names a file of this one means it to start here."""
    if said is not None:
        return str(Path(said).absolute())
    return str(Path.cwd()) if any(_is_here(word) for word in command) else None


def _is_here(word: str) -> bool:
    try:
        return bool(word) and not Path(word).is_absolute() and Path(word).exists()
    except (OSError, ValueError):
        return False


def _warn_of_secrets(pairs: dict[str, str]) -> None:
    for name, value in pairs.items():
        if is_secret_key(name) and value and not is_only_references(value.removeprefix("Bearer ")):
            tell(f"! {name} is kept in the store as you wrote it. A reference is not: {name}=${{A_VARIABLE}}")
