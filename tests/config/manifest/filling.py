"""A manifest with the secrets that its placeholders stand for, as it would be if they had never been there."""

import json
from collections.abc import Mapping
from dataclasses import replace

from pegboard.config.manifest.model import ContainerEntry, Manifest, SecretEntry
from pegboard.config.references import Literal, TextPart, VariableReference, escape_literal, parse_references
from pegboard.core.model.server import Connection, Http, OAuth, Stdio
from pegboard.core.overrides.model import ArgumentOverride, freeze_json


def filled(again: Manifest, values: Mapping[str, str], secrets: tuple[SecretEntry, ...]) -> Manifest:
    """The manifest as it would be if its placeholders had never been there."""

    def text(said: str) -> str:
        split = parse_references(said)
        assert isinstance(split, tuple)
        return "".join(_said(part, values) for part in split)

    def each(said: Mapping[str, str]) -> dict[str, str]:
        return {name: text(value) for name, value in said.items()}

    def connection(said: Connection) -> Connection:
        match said:
            case Stdio(command, args, env):
                return replace(said, command=text(command), args=tuple(map(text, args)), env=each(env))
            case Http(url, _, headers, OAuth(client_secret=secret) as oauth):
                auth = replace(oauth, client_secret=None if secret is None else text(secret))
                return replace(said, url=text(url), headers=each(headers), oauth=auth)
            case Http(url, _, headers):
                return replace(said, url=text(url), headers=each(headers))
            case _:
                raise AssertionError(said)

    def box(said: ContainerEntry) -> ContainerEntry:
        args = tuple(map(text, said.image.args))
        return replace(said, image=replace(said.image, args=args, env=each(said.image.env)))

    def argument(said: ArgumentOverride) -> ArgumentOverride:
        name = str(said.pin.value)[2:-1] if said.pin is not None else ""
        return replace(said, pin=freeze_json(json.loads(values[name]))) if name in values else said

    rows = [
        row if row.arguments is None else replace(row, arguments={k: argument(v) for k, v in row.arguments.items()})
        for row in again.overrides
    ]
    return replace(
        again,
        servers=tuple(replace(server, connection=connection(server.connection)) for server in again.servers),
        containers=tuple(map(box, again.containers)),
        overrides=tuple(rows),
        secrets=secrets,
    )


def _said(part: TextPart, values: Mapping[str, str]) -> str:
    if isinstance(part, Literal):
        return escape_literal(part.text)
    return values.get(part.name, part.source) if isinstance(part, VariableReference) else part.source
