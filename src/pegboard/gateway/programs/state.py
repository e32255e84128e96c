"""A suspended program as signed bytes."""

import hmac
import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from pegboard.core.json.values import Json
from pegboard.core.model.ids import CallId, PrincipalId, ToolId, parse_tool_id
from pegboard.core.model.settings import PythonSandbox
from pegboard.gateway.programs.calls import CallSummary, WaitingCall

_FORMAT_VERSION: Final = 2
"""What the first member says of how the rest is written: one line, and behind it the state as it is."""
_INLINE_FORMAT_VERSION: Final = 1
"""How an earlier version wrote it: the state is in the line, too."""
_SIGNATURE_BYTES: Final = 32


@dataclass(frozen=True)
class SavedRun:
    run: CallId
    principal: PrincipalId
    client: str
    python: PythonSandbox
    state: bytes
    """As the sandbox gave it."""
    functions: Mapping[str, ToolId]
    call_summaries: Mapping[int, CallSummary]
    waiting_calls: tuple[WaitingCall, ...]
    timeout_s: float
    remaining_s: float
    """Seconds of the wall clock that it may still run: waiting for a person takes none of them."""
    note: str = ""
    stdout: str = ""
    """What it has printed, for where its time ends before it does."""
    digest: str = ""
    """Of its text, by `code_digest`: of what an earlier version kept it is not known."""


def code_digest(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def serialize_run(kept: SavedRun, key: bytes) -> bytes:
    said: dict[str, Json] = {
        "form": _FORMAT_VERSION,
        "run": kept.run,
        "principal": kept.principal,
        "client": kept.client,
        "python": kept.python.value,
        "functions": {name: str(id) for name, id in kept.functions.items()},
        "made": [[ordinal, each.name, each.ms, each.error] for ordinal, each in kept.call_summaries.items()],
        "waiting": [
            [wait.ordinal, wait.ticket, wait.name, str(wait.tool), wait.arguments] for wait in kept.waiting_calls
        ],
        "wall": kept.timeout_s,
        "left": kept.remaining_s,
        "note": kept.note,
        "stdout": kept.stdout,
        "digest": kept.digest,
    }
    text = json.dumps(said, separators=(",", ":")).encode() + b"\n" + kept.state
    return hmac.digest(key, text, "sha256") + text


def deserialize_run(raw: bytes, key: bytes, run: CallId, principal: PrincipalId, client: str) -> SavedRun | None:
    """`None` for what this gateway did not sign, and for what is another's: nothing of it is looked at before."""
    signature, text = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, hmac.digest(key, text, "sha256")):
        return None
    line, _, state = text.partition(b"\n")
    said = json.loads(line)
    if (said["run"], said["principal"], said["client"]) != (run, principal, client):
        return None
    if said["form"] not in (_FORMAT_VERSION, _INLINE_FORMAT_VERSION):
        return None
    if said["form"] == _INLINE_FORMAT_VERSION:
        try:
            state = b64decode(said["state"], validate=True)
        except NotBase64:
            return None
    return SavedRun(
        run,
        principal,
        client,
        PythonSandbox(said["python"]),
        state,
        {name: _parse_id(text) for name, text in said["functions"].items()},
        {ordinal: CallSummary(name, ms, error) for ordinal, name, ms, error in said["made"]},
        tuple(
            WaitingCall(ordinal, ticket, name, _parse_id(tool), arguments)
            for ordinal, ticket, name, tool, arguments in said["waiting"]
        ),
        said["wall"],
        # What an earlier version kept does not say how long it had run.
        said.get("left", said["wall"]),
        said["note"],
        said.get("stdout", ""),
        said.get("digest", ""),
    )


def _parse_id(text: str) -> ToolId:
    id = parse_tool_id(text)
    assert isinstance(id, ToolId), "it was written from one"
    return id
