"""A suspended program as bytes: whose it is, what it has done and what it waits for, signed with the gateway's key."""

import hmac
import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from pegboard.core.code import Python
from pegboard.core.ids import CallId, PrincipalId, ToolId, tool_id
from pegboard.core.tool import Json

from .made import Made
from .nested import Wait

_FORM: Final = 2
"""What the first member says of how the rest is written: one line, and behind it the state as it is."""
_IN_THE_LINE: Final = 1
"""How an earlier version wrote it: the state is in the line, too."""
_SIGNATURE: Final = 32


@dataclass(frozen=True)
class Kept:
    run: CallId
    principal: PrincipalId
    client: str
    python: Python
    state: bytes
    """As the sandbox gave it."""
    functions: Mapping[str, ToolId]
    made: Mapping[int, Made]
    waiting: tuple[Wait, ...]
    wall: float
    left: float
    """Seconds of the wall clock that it may still run: waiting for a person takes none of them."""
    note: str = ""
    stdout: str = ""
    """What it has printed, for where its time ends before it does."""
    digest: str = ""
    """Of its text, by `digest_of`: of what an earlier version kept it is not known."""


def digest_of(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def signed(kept: Kept, key: bytes) -> bytes:
    said: dict[str, Json] = {
        "form": _FORM,
        "run": kept.run,
        "principal": kept.principal,
        "client": kept.client,
        "python": kept.python.value,
        "functions": {name: str(id) for name, id in kept.functions.items()},
        "made": [[ordinal, each.name, each.ms, each.error] for ordinal, each in kept.made.items()],
        "waiting": [[wait.ordinal, wait.ticket, wait.name, str(wait.tool), wait.arguments] for wait in kept.waiting],
        "wall": kept.wall,
        "left": kept.left,
        "note": kept.note,
        "stdout": kept.stdout,
        "digest": kept.digest,
    }
    text = json.dumps(said, separators=(",", ":")).encode() + b"\n" + kept.state
    return hmac.digest(key, text, "sha256") + text


def opened(raw: bytes, key: bytes, run: CallId, principal: PrincipalId, client: str) -> Kept | None:
    """`None` for what this gateway did not sign, and for what is another's: nothing of it is looked at before."""
    signature, text = raw[:_SIGNATURE], raw[_SIGNATURE:]
    if not hmac.compare_digest(signature, hmac.digest(key, text, "sha256")):
        return None
    line, _, state = text.partition(b"\n")
    said = json.loads(line)
    if (said["run"], said["principal"], said["client"]) != (run, principal, client):
        return None
    if said["form"] not in (_FORM, _IN_THE_LINE):
        return None
    if said["form"] == _IN_THE_LINE:
        try:
            state = b64decode(said["state"], validate=True)
        except NotBase64:
            return None
    return Kept(
        run,
        principal,
        client,
        Python(said["python"]),
        state,
        {name: _id(text) for name, text in said["functions"].items()},
        {ordinal: Made(name, ms, error) for ordinal, name, ms, error in said["made"]},
        tuple(
            Wait(ordinal, ticket, name, _id(tool), arguments)
            for ordinal, ticket, name, tool, arguments in said["waiting"]
        ),
        said["wall"],
        # What an earlier version kept does not say how long it had run.
        said.get("left", said["wall"]),
        said["note"],
        said.get("stdout", ""),
        said.get("digest", ""),
    )


def _id(text: str) -> ToolId:
    id = tool_id(text)
    assert isinstance(id, ToolId), "it was written from one"
    return id
