"""A toolset of which nothing was run: what its functions say is read from their text as far as that tells, and else
taken to be as before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.core.ids import ToolId, ToolsetKey
from pegboard.core.override import OverrideIndex
from pegboard.core.own import OwnTools
from pegboard.core.policy import Policy
from pegboard.core.tool import Json, ToolSpec
from pegboard.ports.describing import DescribedTool

from .functions import FunctionText, read_function_text

if TYPE_CHECKING:
    from pegboard.config.manifest import CommandEntry, Manifest
    from pegboard.config.manifest.model import ToolEntry


def describe_from_text(
    manifest: "Manifest", folder: Path, policy: Policy
) -> tuple[Sequence[DescribedTool], Mapping[str, tuple["CommandEntry", ...]]]:
    """In the place of what describing gives: its functions, and the commands that labels of its images tell of."""
    from pegboard.config.manifest import CommandEntry, ToolsFromLabel

    key = ToolsetKey(manifest.id)
    server = policy.decisions.servers.get(key)
    own = server.connection if server is not None and isinstance(server.connection, OwnTools) else OwnTools("")
    said = OverrideIndex(policy.decisions.manifest_overrides)
    specs = {tool.spec.name: tool.spec for tool in own.python}

    def confirms(name: str) -> bool | None:
        return said.for_tool(ToolId(key, name)).requires_confirmation

    texts = {each.id: read_function_text(folder, each.module_files, _function(each)) for each in manifest.tools}
    described = [
        # Where its text does not tell, it is taken to ask for no more and no less than before.
        DescribedTool(_spec(each, text, specs), confirms(each.id) if text is None else text.requires_confirmation)
        for each in manifest.tools
        for text in (texts[each.id],)
    ]
    labelled = {
        each.id: tuple(
            CommandEntry(
                tool.spec.name,
                tool.command,
                tool.spec.description,
                tool.spec.title,
                {**tool.spec.input_schema},
                None if tool.spec.output_schema is None else {**tool.spec.output_schema},
                tool.seconds,
                confirms(tool.spec.name),
            )
            for tool in own.commands
            if tool.container == each.id
        )
        for each in manifest.containers
        if isinstance(each.offers, ToolsFromLabel)
    }
    return described, labelled


def _spec(entry: "ToolEntry", text: FunctionText | None, known: Mapping[str, ToolSpec]) -> ToolSpec:
    said = entry.description or (None if text is None else text.description)
    former = known.get(entry.id)
    if former is not None:
        return former if said is None or said == former.description else replace(former, description=said)
    taken: dict[str, Json] = {} if text is None else {name: {} for name in text.parameters}
    return ToolSpec(entry.id, entry.name, said or "", {"type": "object", "properties": taken})


def _function(entry: "ToolEntry") -> str:
    return entry.entrypoint.partition(":")[2]


def modules_of(manifest: "Manifest", folder: Path) -> tuple[str, ...]:
    """The files that would be run to see what its functions are."""
    found = (
        next((name for name in each.module_files if (folder / name).is_file()), each.module_files[0])
        for each in manifest.tools
    )
    return tuple(dict.fromkeys(found))
