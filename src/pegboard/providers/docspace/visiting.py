"""A look at a DocSpace: whether it is one, who we are there, and what we may see. It changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .api import Api, read, refusal
from .asking import address, path
from .client import Reply, Sending, Unheard
from .javascript import NotJson
from .trouble import Trouble

_SEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "documents": ("files", "@my"),
    "rooms": ("files", "rooms"),
    "people": ("people", "filter"),
}
_ROLES: Final = {
    "isOwner": "owner",
    "isAdmin": "administrator",
    "isRoomAdmin": "room administrator",
    "isCollaborator": "power user",
    "isVisitor": "guest",
}
_TLS: Final = ("ssl", "certificate", "tls")


class Unwelcome(Enum):
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    NO_DOCSPACE = "no_docspace"


@dataclass(frozen=True, slots=True)
class Failed:
    """Why the look was in vain, and what to do."""

    how: Unwelcome
    why: str
    mend: str


@dataclass(frozen=True, slots=True)
class Visit:
    name: str
    email: str
    role: str
    sees: Mapping[str, str | None]
    """What there is to see, and why we may not; `None` for what we may."""


async def visit(api: Api) -> Visit | Failed:
    try:
        reply = await _asked(api, path("people", "@self"))
    except Unheard as unheard:
        return _unheard(unheard, api.access.base)
    person = _person(reply)
    if isinstance(person, Failed):
        return person
    sees: dict[str, str | None] = {}
    for what, steps in _SEEN.items():
        try:
            sees[what] = _why_not(await _asked(api, path(*steps), {"count": 1}))
        except Unheard as unheard:
            sees[what] = _innermost(unheard)
    role = next((role for flag, role in _ROLES.items() if person.get(flag) is True), "user")
    return Visit(_text(person, "displayName"), _text(person, "email"), role, sees)


async def _asked(api: Api, at: str, filters: Mapping[str, Json] | None = None) -> Reply:
    url = address(api.access.base, at, filters)
    return await api.client.ask(api.access, Sending("GET", url, {"accept": "application/json"}), api.seat)


def _person(reply: Reply) -> JsonObject | Failed:
    body = read(reply)
    is_json = (reply.content_type or "").lower().split(";")[0].strip() == "application/json"
    if reply.moved is not None and not (reply.is_good and is_json):
        why = f"it redirects to {reply.moved}, where credentials do not follow"
        return Failed(Unwelcome.NO_DOCSPACE, why, "Use that as the base URL.")
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        told = None if isinstance(body, NotJson) else refusal(body)
        why = f"it does not know these credentials (HTTP {reply.status}{f', {told}' if told else ''})"
        return Failed(Unwelcome.REFUSED, why, "Make another key or token in DocSpace, or correct the password.")
    if isinstance(body, NotJson) or not isinstance(body, dict) or not reply.is_good:
        told = f"with HTTP {reply.status}"
        if reply.body.lstrip().startswith(b"<"):
            told = "with a web page"
        elif reply.is_good:
            told = f"with what is no JSON: {body}" if isinstance(body, NotJson) else "with JSON that is not DocSpace's"
        return _no_docspace(f"what is there answers the API {told}")
    if not is_json:
        kind = "no Content-Type" if reply.content_type is None else f"the Content-Type {reply.content_type[:80]!r}"
        return _no_docspace(f"what is there answers the API with {kind}, which no tool can read")
    match body:
        case {"response": dict(person), "statusCode": int(), "status": int()} if isinstance(
            person.get("id"), str | int
        ):
            return person
        case _ if (said := refusal(body)) is not None:
            return Failed(Unwelcome.REFUSED, f"it refuses to say who we are: {said}", "Use other credentials.")
        case _:
            return _no_docspace("what is there answers with JSON that is not DocSpace's")


def _no_docspace(why: str) -> Failed:
    mend = "Use the address that a browser shows for your DocSpace, without what follows the host."
    return Failed(Unwelcome.NO_DOCSPACE, why, mend)


def _unheard(unheard: Unheard, base: str) -> Failed:
    why = _innermost(unheard)
    if unheard.is_answered:
        return _no_docspace(f"what is there answers, but not as DocSpace does: {why}")
    if any(word in why.lower() for word in _TLS):
        mend = (
            "Use the name that the certificate is for; trust one of your own by SSL_CERT_FILE, or check http or https."
        )
        return Failed(Unwelcome.UNREACHABLE, f"its TLS cannot be trusted or spoken: {why}", mend)
    secure = " A DocSpace behind TLS has an address with https." if base.startswith("http:") else ""
    return Failed(
        Unwelcome.UNREACHABLE, f"it cannot be reached: {why}", f"Check the name, the port and the network.{secure}"
    )


def _innermost(trouble: Trouble) -> str:
    while isinstance(trouble.why, Trouble):
        trouble = trouble.why
    return ", ".join(map(str, trouble.why)) if trouble.why else trouble.step


def _why_not(reply: Reply) -> str | None:
    body = read(reply)
    told = None if isinstance(body, NotJson) else refusal(body)
    if reply.is_good and told is None:
        return None
    return f"HTTP {reply.status}{f', {told}' if told else ''}"


def _text(person: JsonObject, name: str) -> str:
    value = person.get(name)
    return value if isinstance(value, str) else ""
