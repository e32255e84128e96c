"""What the servers and containers of a toolset run, reach and read, told before it is imported: and never a secret."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.installing import ConnectionDescriber
from pegboard.core.own import OwnTools
from pegboard.core.reached import describe_connection
from pegboard.core.said import quote_name
from pegboard.core.server import Connection, Container, Http, Stdio


def reach_describer(secrets: Collection[str]) -> ConnectionDescriber:
    """`secrets` are those that it asks for: what it reads beside them is the gateway's own."""

    def describe_reach(connection: Connection) -> tuple[str, ...]:
        return (describe_connection(_masked_connection(connection)), *_outside_reads(connection, secrets))

    return describe_reach


def _masked_connection(connection: Connection) -> Connection:
    """By the rule by which an export tells secrets in arguments from the rest."""
    from pegboard.config.shown import display_args, display_text

    match connection:
        case Stdio(command, args, _, _):
            return replace(
                connection, command=display_text(command), args=_masked_arguments(display_args(command, args))
            )
        case Container(image):
            return Container(replace(image, args=_masked_arguments(display_args("", image.args))))
        case Http(url):
            return replace(connection, url=display_text(url))
        case OwnTools() | DocSpace():
            return connection
        case _:
            assert_never(connection)


def _masked_arguments(args: tuple[str, ...]) -> tuple[str, ...]:
    """In the word that a text without secrets uses for them, so that it is not hidden again."""
    from pegboard.config.masking import MASK

    return tuple(arg.replace(MASK, "[hidden]") for arg in args)


def _outside_reads(connection: Connection, secrets: Collection[str]) -> Iterator[str]:
    from pegboard.config.referenced import connection_texts
    from pegboard.config.references import FileReference, VariableReference, parse_references

    split = [
        part
        for text in connection_texts(connection)
        if isinstance(found := parse_references(text), tuple)
        for part in found
    ]
    names = {part.name: None for part in split if isinstance(part, VariableReference) and part.name not in secrets}
    files = {part.path: None for part in split if isinstance(part, FileReference)}
    if names:
        what = "variable" if len(names) == 1 else "variables"
        yield f"gets the {what} {', '.join(map(quote_name, names))} of the gateway's own environment"
    if files:
        what = "file" if len(files) == 1 else "files"
        yield f"gets the {what} {', '.join(map(quote_name, files))} of this machine"
