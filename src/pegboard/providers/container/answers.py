"""What a command wrote, as the answer of a tool: a JSON object is data, everything else is text."""

import json
from collections.abc import Mapping
from typing import Final, NoReturn

from pegboard.children.lines import one_line
from pegboard.core.call import Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.nesting import deeper_than
from pegboard.core.own import MIB, ContainerTool, Image
from pegboard.core.tool import canonical

from .engine import engine_error, said_by_engine, without_asides
from .running import Ended

_DEEPEST: Final = 200
_LAST_LINES: Final = 10
_KILLED: Final = 137
ENGINE_FAILED: Final = 125
_NOT_STARTED: Final = (126, 127)


def answer(tool: ContainerTool, image: Image, ended: Ended, source: str, engine: str) -> Outcome:
    if ended.code == 0:
        return _returned(tool, ended.out)
    # By its code alone, what the engine says could be what the program in the container says.
    last = None if ended.spoke else said_by_engine(ended.lines, engine)
    if ended.code in (ENGINE_FAILED, *_NOT_STARTED) and last is not None:
        if ended.code == ENGINE_FAILED:
            return ProviderFailed(f"{source} {cannot_run(image, last, keep=tool.command)}", False)
        why = engine_error(last, keep=tool.command)
        return ProviderFailed(f"{source} cannot start {tool.command[0]!r} in the image {image.image}: {why}", False)
    return ToolFailed(_body(_failure(tool, image, ended), failed=True))


def cannot_run(image: Image, last: str, *, keep: tuple[str, ...] = ()) -> str:
    """By the last line of the engine. It reads on from the name of whatever needs the image."""
    why = engine_error(last, keep=keep)
    return f"cannot run the image {image.image}: {why}{_advice(why)}"


def _advice(why: str) -> str:
    if "image not known" in why or "No such image" in why or "Unable to find image" in why:
        return ". Import the toolset again, which fetches it"
    return ""


def _failure(tool: ContainerTool, image: Image, ended: Ended) -> str:
    said = without_asides(ended.lines) or ended.out.decode("utf-8", "replace").splitlines()
    told = "\n".join(one_line(line, 2_000) for line in said[-_LAST_LINES:])
    how = f"{tool.spec.name} failed with exit code {ended.code}"
    if ended.code == _KILLED:
        memory = f"{image.memory // MIB} MiB"
        how = f"{tool.spec.name} was killed (exit code 137), most likely because it took more memory than its {memory}"
    return f"{how}:\n{told}" if told else f"{how}."


def _returned(tool: ContainerTool, out: bytes) -> Outcome:
    text = out.strip()
    if (written := _object(text)) is not None:
        if (problem := _misfit(tool, written)) is not None:
            told = f"{tool.spec.name} ran, but what it wrote does not fit its output schema"
            return ToolFailed(_body(f"{told}: {problem}", failed=True))
        shown = json.dumps(text.decode())
        return Returned(
            f'{{"content":[{{"type":"text","text":{shown}}}],"structuredContent":{text.decode()}}}'.encode()
        )
    if tool.spec.output_schema is not None:
        what = "nothing" if not text else f"this: {one_line(text.decode('utf-8', 'replace'), 200)}"
        told = f"{tool.spec.name} ran, but did not write the JSON object that its output schema promises"
        return ToolFailed(_body(f"{told}. It wrote {what}", failed=True))
    return Returned(_body(out.decode("utf-8", "replace").removesuffix("\n")))


def _body(text: str, *, failed: bool = False) -> bytes:
    content = [{"type": "text", "text": text}] if text else []
    return json.dumps({"content": content, **({"isError": True} if failed else {})}).encode()


def _misfit(tool: ContainerTool, written: Mapping[str, object]) -> str | None:
    if tool.spec.output_schema is None:
        return None
    import jsonschema_rs  # Only here, because few tools promise what they write.

    schema = json.loads(canonical(tool.spec.output_schema))
    try:
        error = next(iter(jsonschema_rs.validator_for(schema).iter_errors(written)), None)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # The schema itself is no good: that is for whoever reads it to tell.
    if error is None:
        return None
    where = ".".join(map(str, error.instance_path))
    return one_line(f"{where}: {error.message}" if where else error.message, 300)


def _object(text: bytes) -> dict[str, object] | None:
    """By the letter of the standard, and no deeper than those who read it after us can bear."""
    if not text.startswith(b"{") or deeper_than(_DEEPEST, text):
        return None
    try:
        value = json.loads(text.decode(), parse_constant=_not_json)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _not_json(word: str) -> NoReturn:
    raise ValueError(word)
