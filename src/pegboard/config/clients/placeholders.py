"""Placeholders of other clients (`${env:X}`, `${input:x}`, `${userHome}`) as our references."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from pegboard.config.references import escape_literal
from pegboard.config.schema.document import FileProblem
from pegboard.core.model.server import Server

# What was found of one client's server list.


class ClientApp(Enum):
    """The value is the name people know it by."""

    CLAUDE_DESKTOP = "Claude Desktop"
    CLAUDE_CODE = "Claude Code"
    CURSOR = "Cursor"
    VS_CODE = "VS Code"
    WINDSURF = "Windsurf"
    UNKNOWN = "another client"

    @property
    def suffix(self) -> str:
        """What tells its servers from others of the same id."""
        return "imported" if self is ClientApp.UNKNOWN else self.value.lower().replace(" ", "-")

    @property
    def expands_plain_names(self) -> bool:
        """Whether `${NAME}` is replaced by the client. The others hand it to the server as it is."""
        return self in (ClientApp.CLAUDE_CODE, ClientApp.UNKNOWN)

    @property
    def knows_folders(self) -> bool:
        """Whether `${workspaceFolder}` and its like are replaced by the client."""
        return self in (ClientApp.CURSOR, ClientApp.VS_CODE, ClientApp.UNKNOWN)


@dataclass(frozen=True)
class ClientServerList:
    """One list. A server's origin says where in the file it stands; problems say what was left out or changed."""

    client: ClientApp
    path: Path
    servers: tuple[Server, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    keys: tuple[str, ...] = ()
    """Of each server, in their order: a problem at or below this key is about it."""


_PLACEHOLDER: Final = re.compile(r"\$\{([^{}$]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?")


@dataclass(frozen=True, slots=True)
class PromptedInput:
    """Something an editor asks its user for."""

    description: str = ""
    default: str | None = None


@dataclass(frozen=True)
class PlaceholderTranslator:
    """What placeholders mean in one list: whose list it is, and the folder it speaks of, if it is a project's."""

    client: ClientApp
    home: Path
    folder: Path | None = None
    inputs: Mapping[str, PromptedInput] = field(default_factory=dict[str, PromptedInput])
    is_windows: bool = False

    def translate(self, text: str, own_env: frozenset[str]) -> tuple[str, tuple[str, ...]]:
        """The text with our references, and what a person must still do for it to work."""
        notes: list[str] = []
        parts: list[str] = []
        place = 0
        for found in _PLACEHOLDER.finditer(text):
            before = escape_literal(text[place : found.start()])
            here = self._translate_one(found.group(1), own_env, notes)
            if before.endswith("$") and here.startswith("${"):
                notes.append("a '$' directly before a reference cannot be written here. Put it into the variable.")
                before = before[:-1]
            parts += (before, here)
            place = found.end()
        return "".join((*parts, escape_literal(text[place:]))), tuple(notes)

    def _translate_one(self, inside: str, own_env: frozenset[str], notes: list[str]) -> str:
        if (known := self._predefined_value(inside)) is not None:
            return escape_literal(known)
        scheme, colon, name = inside.partition(":")
        if colon and scheme == "env" and _NAME.fullmatch(name):
            return f"${{{name}}}"
        # The others read no files this way, and a list from a project must not make the gateway read one for it.
        if colon and scheme == "file" and name.strip() and self.client is ClientApp.WINDSURF:
            return f"${{file:{name}}}"
        if colon and scheme == "input" and name:
            return self._translate_input(name, notes)
        is_editors = self.client.knows_folders and (
            inside in _FOLDERS or scheme in ("config", "command", "workspaceFolder")
        )
        if is_editors:
            variable = variable_name(inside)
            notes.append(
                f"${{{inside}}} is known to {self.client.value} alone. Set the environment variable {variable}."
            )
            return f"${{{variable}}}"
        plain = _PLAIN_NAME.fullmatch(inside)
        if plain is not None and self.client.expands_plain_names and plain.group(1) not in own_env:
            return f"${{{inside}}}"
        return escape_literal(f"${{{inside}}}")

    def _predefined_value(self, inside: str) -> str | None:
        if not self.client.knows_folders:
            return None
        if inside in ("/", "pathSeparator"):
            return "\\" if self.is_windows else "/"
        if inside == "userHome":
            return str(self.home)
        if self.folder is None:
            return None
        if inside == "workspaceFolderBasename":
            return self.folder.name
        return str(self.folder) if inside in _FOLDERS else None

    def _translate_input(self, name: str, notes: list[str]) -> str:
        asked = self.inputs.get(name, PromptedInput())
        variable = variable_name(name)
        if asked.default is not None and not set("${}") & set(asked.default):
            return f"${{{variable}:-{asked.default}}}"
        meant = f" ({asked.description})" if asked.description else ""
        notes.append(f"{self.client.value} asks for {name!r}{meant}. Set the environment variable {variable}.")
        return f"${{{variable}}}"


_FOLDERS: Final = ("workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "cwd")


def variable_name(*words: str) -> str:
    """A name for an environment variable that tells what it is."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(words)).strip("_").upper()
    return name if _NAME.fullmatch(name) else f"PEGBOARD_{name or 'VALUE'}"


def absolute_path(path: str, folder: Path | None) -> str:
    """A path as our own settings want it: one in a project's list is meant from the project's folder."""
    if folder is None or path.startswith(("${", "~")) or os.path.isabs(path):
        return path
    return os.path.join(escape_literal(str(folder)), path)
