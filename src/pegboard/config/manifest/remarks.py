"""What is worth a word in a manifest that is good all the same: references that whoever imports it may not expect."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pegboard.config import override_keys
from pegboard.config.overriding import texts_in
from pegboard.config.referenced import connection_texts
from pegboard.config.references import FileReference, VariableReference, parse_references
from pegboard.config.section import ConfigValues
from pegboard.config.telling import LocatedValue, ProblemCollector

from . import keys
from .model import Manifest

_COMMON_VARIABLES: Final = frozenset(
    {"HOME", "PATH", "USER", "LANG", "PWD", "SHELL", "TMPDIR", "TEMP", "TMP", "USERPROFILE"}
)


def add_warnings(manifest: Manifest, values: ConfigValues, tell: ProblemCollector) -> Manifest:
    known = {secret.name for secret in manifest.secrets}
    for said, texts in _texts(manifest, values):
        split = [part for text in texts if isinstance(found := parse_references(text), tuple) for part in found]
        variables = {part.name for part in split if isinstance(part, VariableReference) and part.default is None}
        for name in sorted(variables - known - _COMMON_VARIABLES):
            what = (
                f"${{{name}}} is taken from the environment of the gateway. Name it under secrets, so that whoever "
                "imports the toolset is asked for it."
            )
            tell.add_warning(said.line, said.key, what)
        for part in dict.fromkeys(part for part in split if isinstance(part, FileReference)):
            tell.add_warning(
                said.line, said.key, f"{part} reads a file of whoever imports the toolset. Ask for a secret instead."
            )
    if not (manifest.tools or manifest.servers or manifest.containers):
        tell.add_warning(0, "", "this toolset brings no tools. Write tools, mcp_servers or containers.")
    return replace(manifest, warnings=tuple(sorted(tell.warnings, key=lambda problem: problem.line)))


def _texts(manifest: Manifest, values: ConfigValues) -> Iterator[tuple[LocatedValue[ConfigValues], Iterable[str]]]:
    for said, each in zip(values.value(keys.MCP_SERVERS, ()), manifest.servers, strict=True):
        yield said, connection_texts(each.connection)
    for said, container in zip(values.value(keys.CONTAINERS, ()), manifest.containers, strict=True):
        yield said, (*container.image.args, *container.image.env.values())
    rows = values.value(keys.TOOL_OVERRIDES, ())
    for said in rows:
        arguments = said.value.value(override_keys.ARGUMENTS, {})
        pins = [placed.value.get(override_keys.PIN) for placed in arguments.values()]
        yield said, [text for pin in pins if pin is not None for text in texts_in(pin.value)]
