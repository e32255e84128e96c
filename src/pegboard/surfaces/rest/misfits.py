"""What is wrong with a request, in our words: where, what was wanted, and what to do.

Never the library's own text, which names its types and patterns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel

from pegboard.core.foreign_names import near_member_hint

_FINGERPRINT: Final = "^[0-9a-f]{64}$"
_MESSAGES: Final[Mapping[str, str]] = {
    "missing": "this is missing. Give it.",
    "extra_forbidden": "this is unknown here. Leave it out, or correct its name.",
    "string_type": "this must be a text.",
    "dict_type": "this must be an object.",
    "model_type": "this must be an object.",
    "model_attributes_type": "this must be an object.",
    "list_type": "this must be a list.",
    "bool_type": "this must be true or false.",
    "bool_parsing": "this must be true or false.",
    "int_type": "this must be a whole number.",
    "int_parsing": "this must be a whole number.",
    "int_from_float": "this must be a whole number.",
    "float_type": "this must be a number.",
    "float_parsing": "this must be a number.",
    "finite_number": "this must be a number.",
    "datetime_type": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "datetime_parsing": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "datetime_from_date_parsing": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "timezone_aware": "this must be a time with its zone, like 2026-07-28T14:30:00Z.",
    "json_invalid": "the body is not JSON. Correct it.",
}
_BOUND_MESSAGES: Final[Mapping[str, str]] = {
    "greater_than_equal": "this must be at least {ge}.",
    "less_than_equal": "this must be at most {le}.",
    "greater_than": "this must be more than {gt}.",
    "less_than": "this must be less than {lt}.",
    "string_too_long": "this has more than {max_length} characters. Shorten it.",
    "string_too_short": "this must have {min_length} or more characters.",
    "too_short": "this must have at least {min_length} of what it lists.",
    "too_long": "this has more than {max_length} members. Leave some out.",
    "literal_error": "this must be {expected}.",
    "enum": "this must be {expected}.",
}
_NO_JSON: Final = "the body was not sent as JSON. Send it with the header Content-Type: application/json."
_NO_BODY: Final = "a body is missing. Send what /api/v1/openapi.json says of this route, as JSON."
_MESSAGES_BY_PLACE: Final[Mapping[str, str]] = {
    "scopes": "this names no scope. Name at least one of read, call, operate and admin.",
    "fileDigest": "this is not the digest of a file. Send the fileDigest that GET /api/v1/settings told.",
}
_WRONG_FORM: Final = "this does not have the form that is wanted. See: /api/v1/openapi.json"


def validation_error_text(found: Mapping[str, Any], body: Any = None) -> str:
    """Of one finding of the library's: by its type, never by its message, but for sentences of our own. `body` is the
    type of what should have been sent."""
    if found["loc"] == ("body",) and isinstance(found.get("input"), bytes):
        return _NO_JSON
    # Of what is no JSON the library tells how many characters were read, in the place of a place.
    where = "" if found["type"] == "json_invalid" else _place_text(found["loc"])
    if found["type"] == "missing" and not where:
        return _NO_BODY
    if where in _MESSAGES_BY_PLACE and str(found["type"]) in ("too_short", "string_pattern_mismatch"):
        return f"{where}: {_MESSAGES_BY_PLACE[where]}"
    if found["type"] == "extra_forbidden" and (model := _model_at(body, found["loc"][1:-1])) is not None:
        return f"{where}: {unknown_member_text(str(found['loc'][-1]), member_names(model))}"
    what = _message(str(found["type"]), found.get("ctx") or {}, str(found["msg"]))
    return f"{where}: {what}" if where else what


def unknown_member_text(name: str, known: Iterable[str]) -> str:
    """For a member or a parameter that a route does not have."""
    hint = near_member_hint(name, known)
    return "this is unknown here. Leave it out" + ("." if hint is None else f", or d{hint[1:]}")


def member_names(model: type[BaseModel]) -> Iterator[str]:
    for name, member in model.model_fields.items():
        yield from dict.fromkeys((name, member.alias or name))


def _model_at(kind: Any, path: Sequence[int | str]) -> type[BaseModel] | None:
    """The model that stands at this place in what is sent, where one does."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if not path:
            return kind
        members = (member for name, member in kind.model_fields.items() if path[0] in (name, member.alias))
        inner = next((member.annotation for member in members), None)
        return None if inner is None else _model_at(inner, path[1:])
    rest = path[1:] if path and get_origin(kind) is list else path
    found = (_model_at(each, rest) for each in get_args(kind))
    return next((model for model in found if model is not None), None)


def _message(kind: str, bounds: Mapping[str, Any], said: str) -> str:
    if kind in _MESSAGES:
        return _MESSAGES[kind]
    if kind in _BOUND_MESSAGES:
        return _BOUND_MESSAGES[kind].format_map(bounds)
    if kind == "value_error":
        return said.removeprefix("Value error, ")
    if kind == "string_pattern_mismatch" and bounds.get("pattern") == _FINGERPRINT:
        return (
            "this is no fingerprint: one has 64 digits and letters from a to f. Copy it from: pegboard approvals show"
        )
    return _WRONG_FORM


def _place_text(path: tuple[int | str, ...]) -> str:
    """Without the first step, which tells the body from the query."""
    text = ""
    for step in path[1:]:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
