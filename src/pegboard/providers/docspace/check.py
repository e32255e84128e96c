"""Checks a DocSpace address and credentials. Changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.providers.docspace.api import DocSpaceApi, api_path, api_url, error_message, parse_body
from pegboard.providers.docspace.client import DocSpaceRequest, DocSpaceRequestError, DocSpaceResponse
from pegboard.providers.docspace.javascript import InvalidJsonError
from pegboard.providers.docspace.limits import DocSpaceError

_PROBE_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
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
_TLS_WORDS: Final = ("ssl", "certificate", "tls")


class DocSpaceFailureKind(Enum):
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    NO_DOCSPACE = "no_docspace"


@dataclass(frozen=True, slots=True)
class DocSpaceCheckFailure:
    """Why the look was in vain, and what to do."""

    kind: DocSpaceFailureKind
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class DocSpaceUser:
    name: str
    email: str
    role: str
    visibility: Mapping[str, str | None]
    """What there is to see, and why we may not; `None` for what we may."""


async def check_docspace(api: DocSpaceApi) -> DocSpaceUser | DocSpaceCheckFailure:
    try:
        reply = await _get(api, api_path("people", "@self"))
    except DocSpaceRequestError as unheard:
        return _describe_unreachable(unheard, api.access.base_url)
    person = _parse_person(reply)
    if isinstance(person, DocSpaceCheckFailure):
        return person
    sees: dict[str, str | None] = {}
    for what, steps in _PROBE_PATHS.items():
        try:
            sees[what] = _refusal_message(await _get(api, api_path(*steps), {"count": 1}))
        except DocSpaceRequestError as unheard:
            sees[what] = _innermost_reason(unheard)
    role = next((role for flag, role in _ROLES.items() if person.get(flag) is True), "user")
    return DocSpaceUser(_text_member(person, "displayName"), _text_member(person, "email"), role, sees)


async def _get(api: DocSpaceApi, at: str, filters: Mapping[str, Json] | None = None) -> DocSpaceResponse:
    url = api_url(api.access.base_url, at, filters)
    return await api.client.send(
        api.access, DocSpaceRequest("GET", url, {"accept": "application/json"}), api.large_answer_slot
    )


def _parse_person(reply: DocSpaceResponse) -> JsonObject | DocSpaceCheckFailure:
    body = parse_body(reply)
    is_json = (reply.content_type or "").lower().split(";")[0].strip() == "application/json"
    if reply.redirected_to is not None and not (reply.is_success and is_json):
        why = f"it redirects to {reply.redirected_to}, where credentials do not follow"
        return DocSpaceCheckFailure(DocSpaceFailureKind.NO_DOCSPACE, why, "Use that as the base URL.")
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        told = None if isinstance(body, InvalidJsonError) else error_message(body)
        why = f"it does not know these credentials (HTTP {reply.status}{f', {told}' if told else ''})"
        return DocSpaceCheckFailure(
            DocSpaceFailureKind.REFUSED, why, "Make another key or token in DocSpace, or correct the password."
        )
    if isinstance(body, InvalidJsonError) or not isinstance(body, dict) or not reply.is_success:
        told = f"with HTTP {reply.status}"
        if reply.body.lstrip().startswith(b"<"):
            told = "with a web page"
        elif reply.is_success:
            told = (
                f"with what is no JSON: {body}"
                if isinstance(body, InvalidJsonError)
                else "with JSON that is not DocSpace's"
            )
        return _not_docspace(f"what is there answers the API {told}")
    if not is_json:
        kind = "no Content-Type" if reply.content_type is None else f"the Content-Type {reply.content_type[:80]!r}"
        return _not_docspace(f"what is there answers the API with {kind}, which no tool can read")
    match body:
        case {"response": dict(person), "statusCode": int(), "status": int()} if isinstance(
            person.get("id"), str | int
        ):
            return person
        case _ if (said := error_message(body)) is not None:
            return DocSpaceCheckFailure(
                DocSpaceFailureKind.REFUSED, f"it refuses to say who we are: {said}", "Use other credentials."
            )
        case _:
            return _not_docspace("what is there answers with JSON that is not DocSpace's")


def _not_docspace(why: str) -> DocSpaceCheckFailure:
    mend = "Use the address that a browser shows for your DocSpace, without what follows the host."
    return DocSpaceCheckFailure(DocSpaceFailureKind.NO_DOCSPACE, why, mend)


def _describe_unreachable(unheard: DocSpaceRequestError, base: str) -> DocSpaceCheckFailure:
    why = _innermost_reason(unheard)
    if unheard.is_answered:
        return _not_docspace(f"what is there answers, but not as DocSpace does: {why}")
    if any(word in why.lower() for word in _TLS_WORDS):
        mend = (
            "Use the name that the certificate is for; trust one of your own by SSL_CERT_FILE, or check http or https."
        )
        return DocSpaceCheckFailure(
            DocSpaceFailureKind.UNREACHABLE, f"its TLS cannot be trusted or spoken: {why}", mend
        )
    secure = " A DocSpace behind TLS has an address with https." if base.startswith("http:") else ""
    return DocSpaceCheckFailure(
        DocSpaceFailureKind.UNREACHABLE,
        f"it cannot be reached: {why}",
        f"Check the name, the port and the network.{secure}",
    )


def _innermost_reason(trouble: DocSpaceError) -> str:
    while isinstance(trouble.why, DocSpaceError):
        trouble = trouble.why
    return ", ".join(map(str, trouble.why)) if trouble.why else trouble.step


def _refusal_message(reply: DocSpaceResponse) -> str | None:
    body = parse_body(reply)
    told = None if isinstance(body, InvalidJsonError) else error_message(body)
    if reply.is_success and told is None:
        return None
    return f"HTTP {reply.status}{f', {told}' if told else ''}"


def _text_member(person: JsonObject, name: str) -> str:
    value = person.get(name)
    return value if isinstance(value, str) else ""
