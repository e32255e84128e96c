"""What a command wrote, as the answer of a tool: a JSON object is data, everything else is text."""

import json
from typing import Final, NoReturn

from pegboard.children.lines import one_line
from pegboard.core.call import Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.nesting import deeper_than
from pegboard.core.own import MIB, ContainerTool, Image

from .engine import engine_error, is_the_engines
from .running import Ended

_DEEPEST: Final = 200
_LAST_LINES: Final = 10
_KILLED: Final = 137
_ENGINE_FAILED: Final = 125
_NOT_STARTED: Final = (126, 127)


def answer(tool: ContainerTool, image: Image, ended: Ended, source: str) -> Outcome:
    if ended.code == 0:
        return _returned(tool, ended.out)
    last = ended.lines[-1] if ended.lines else ""
    # By its code alone, what the engine says could be what the program in the container says.
    if ended.code in (_ENGINE_FAILED, *_NOT_STARTED) and is_the_engines(last):
        why = engine_error(last, keep=tool.command)
        if ended.code == _ENGINE_FAILED:
            return ProviderFailed(f"{source} cannot run the image {image.image}: {why}{_advice(why)}", False)
        return ProviderFailed(f"{source} cannot start {tool.command[0]!r} in the image {image.image}: {why}", False)
    return ToolFailed(_body(_failure(tool, image, ended), failed=True))


def _advice(why: str) -> str:
    if "image not known" in why or "No such image" in why or "Unable to find image" in why:
        return ". Import the toolset again, which fetches it"
    return ""


def _failure(tool: ContainerTool, image: Image, ended: Ended) -> str:
    said = [line for line in ended.lines if line.strip()] or ended.out.decode("utf-8", "replace").splitlines()
    told = "\n".join(one_line(line, 2_000) for line in said[-_LAST_LINES:])
    how = f"{tool.spec.name} failed with exit code {ended.code}"
    if ended.code == _KILLED:
        how = f"{tool.spec.name} was killed, most likely because it took more memory than its {image.memory // MIB} MiB"
    return f"{how}:\n{told}" if told else f"{how}."


def _returned(tool: ContainerTool, out: bytes) -> Outcome:
    text = out.strip()
    if _is_object(text):
        shown = json.dumps(text.decode())
        return Returned(
            f'{{"content":[{{"type":"text","text":{shown}}}],"structuredContent":{text.decode()}}}'.encode()
        )
    if tool.spec.output_schema is not None:
        written = "nothing" if not text else f"this: {one_line(text.decode('utf-8', 'replace'), 200)}"
        told = f"{tool.spec.name} ran, but did not write the JSON object that its output schema promises"
        return ToolFailed(_body(f"{told}. It wrote {written}", failed=True))
    return Returned(_body(out.decode("utf-8", "replace").removesuffix("\n")))


def _body(text: str, *, failed: bool = False) -> bytes:
    content = [{"type": "text", "text": text}] if text else []
    return json.dumps({"content": content, **({"isError": True} if failed else {})}).encode()


def _is_object(text: bytes) -> bool:
    """By the letter of the standard, and no deeper than those who read it after us can bear."""
    if not text.startswith(b"{") or deeper_than(_DEEPEST, text):
        return False
    try:
        return isinstance(json.loads(text.decode(), parse_constant=_not_json), dict)
    except (ValueError, RecursionError):
        return False


def _not_json(word: str) -> NoReturn:
    raise ValueError(word)
