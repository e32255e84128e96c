"""What the servers and containers of a toolset run, reach and read, told before it is imported: and never a secret."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import assert_never

from pegboard.core.docspace.connection import DocSpace
from pegboard.core.installing import Reached
from pegboard.core.own import Own
from pegboard.core.reached import reach_words
from pegboard.core.said import plainly
from pegboard.core.server import Connection, Container, Http, Stdio


def reached_with(secrets: Collection[str]) -> Reached:
    """`secrets` are those that it asks for: what it reads beside them is the gateway's own."""

    def reached(connection: Connection) -> tuple[str, ...]:
        return (reach_words(_shown(connection)), *_reads(connection, secrets))

    return reached


def _shown(connection: Connection) -> Connection:
    """By the rule by which an export tells secrets in arguments from the rest."""
    from pegboard.config.shown import shown_args, shown_text

    match connection:
        case Stdio(command, args, _, _):
            return replace(connection, command=shown_text(command), args=_hidden(shown_args(command, args)))
        case Container(image):
            return Container(replace(image, args=_hidden(shown_args("", image.args))))
        case Http(url):
            return replace(connection, url=shown_text(url))
        case Own() | DocSpace():
            return connection
        case _:
            assert_never(connection)


def _hidden(args: tuple[str, ...]) -> tuple[str, ...]:
    """In the word that a text without secrets uses for them, so that it is not hidden again."""
    from pegboard.config.masking import MASK

    return tuple(arg.replace(MASK, "[hidden]") for arg in args)


def _reads(connection: Connection, secrets: Collection[str]) -> Iterator[str]:
    from pegboard.config.referenced import texts_of
    from pegboard.config.references import FileText, Variable, parts

    split = [part for text in texts_of(connection) if isinstance(found := parts(text), tuple) for part in found]
    names = {part.name: None for part in split if isinstance(part, Variable) and part.name not in secrets}
    files = {part.path: None for part in split if isinstance(part, FileText)}
    if names:
        what = "variable" if len(names) == 1 else "variables"
        yield f"gets the {what} {', '.join(map(plainly, names))} of the gateway's own environment"
    if files:
        what = "file" if len(files) == 1 else "files"
        yield f"gets the {what} {', '.join(map(plainly, files))} of this machine"
