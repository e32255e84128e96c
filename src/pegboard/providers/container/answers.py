"""What a command wrote, as the answer of a tool: a JSON object is data, everything else is text."""

import json
from collections.abc import Mapping
from typing import Final, NoReturn

from pegboard.children.lines import one_line
from pegboard.core.call import Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.nesting import is_deeper_than
from pegboard.core.own import MIB, ContainerImage, ContainerTool
from pegboard.core.tool import canonical_json

from .engine import engine_error, last_engine_line, without_noise
from .running import ContainerExit

_MAX_DEPTH: Final = 200
_MAX_LOG_LINES: Final = 10
_KILLED_CODE: Final = 137
ENGINE_FAILED_CODE: Final = 125
_NOT_STARTED_CODES: Final = (126, 127)


def to_outcome(tool: ContainerTool, image: ContainerImage, ended: ContainerExit, source: str, engine: str) -> Outcome:
    if ended.code == 0:
        return _success_outcome(tool, ended.out)
    # By its code alone, what the engine says could be what the program in the container says.
    last = None if ended.has_program_output else last_engine_line(ended.lines, engine)
    if ended.code in (ENGINE_FAILED_CODE, *_NOT_STARTED_CODES) and last is not None:
        if ended.code == ENGINE_FAILED_CODE:
            return ProviderFailure(f"{source} {cannot_run_message(image, last, keep=tool.command)}", False)
        why = engine_error(last, keep=tool.command)
        return ProviderFailure(f"{source} cannot start {tool.command[0]!r} in the image {image.image}: {why}", False)
    return ToolFailure(_result_body(_failure_text(tool, image, ended), failed=True))


def cannot_run_message(image: ContainerImage, last: str, *, keep: tuple[str, ...] = ()) -> str:
    """By the last line of the engine. It reads on from the name of whatever needs the image."""
    why = engine_error(last, keep=keep)
    return f"cannot run the image {image.image}: {why}{_advice(why)}"


def _advice(why: str) -> str:
    if "image not known" in why or "No such image" in why or "Unable to find image" in why:
        return ". Import the toolset again, which fetches it"
    return ""


def _failure_text(tool: ContainerTool, image: ContainerImage, ended: ContainerExit) -> str:
    said = without_noise(ended.lines) or ended.out.decode("utf-8", "replace").splitlines()
    told = "\n".join(one_line(line, 2_000) for line in said[-_MAX_LOG_LINES:])
    how = f"{tool.spec.name} failed with exit code {ended.code}"
    if ended.code == _KILLED_CODE:
        memory = f"{image.memory // MIB} MiB"
        how = f"{tool.spec.name} was killed (exit code 137), most likely because it took more memory than its {memory}"
    return f"{how}:\n{told}" if told else f"{how}."


def _success_outcome(tool: ContainerTool, out: bytes) -> Outcome:
    text = out.strip()
    if (written := _parse_object(text)) is not None:
        if (problem := _schema_problem(tool, written)) is not None:
            told = f"{tool.spec.name} ran, but what it wrote does not fit its output schema"
            return ToolFailure(_result_body(f"{told}: {problem}", failed=True))
        shown = json.dumps(text.decode())
        return ToolSuccess(
            f'{{"content":[{{"type":"text","text":{shown}}}],"structuredContent":{text.decode()}}}'.encode()
        )
    if tool.spec.output_schema is not None:
        what = "nothing" if not text else f"this: {one_line(text.decode('utf-8', 'replace'), 200)}"
        told = f"{tool.spec.name} ran, but did not write the JSON object that its output schema promises"
        return ToolFailure(_result_body(f"{told}. It wrote {what}", failed=True))
    return ToolSuccess(_result_body(out.decode("utf-8", "replace").removesuffix("\n")))


def _result_body(text: str, *, failed: bool = False) -> bytes:
    content = [{"type": "text", "text": text}] if text else []
    return json.dumps({"content": content, **({"isError": True} if failed else {})}).encode()


def _schema_problem(tool: ContainerTool, written: Mapping[str, object]) -> str | None:
    if tool.spec.output_schema is None:
        return None
    import jsonschema_rs  # Only here, because few tools promise what they write.

    schema = json.loads(canonical_json(tool.spec.output_schema))
    try:
        error = next(iter(jsonschema_rs.validator_for(schema).iter_errors(written)), None)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # The schema itself is no good: that is for whoever reads it to tell.
    if error is None:
        return None
    where = ".".join(map(str, error.instance_path))
    return one_line(f"{where}: {error.message}" if where else error.message, 300)


def _parse_object(text: bytes) -> dict[str, object] | None:
    """By the letter of the standard, and no deeper than those who read it after us can bear."""
    if not text.startswith(b"{") or is_deeper_than(_MAX_DEPTH, text):
        return None
    try:
        value = json.loads(text.decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(word)
