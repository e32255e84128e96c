"""What Pegboard says in words or in a form of its own: its meta tools, its refusals, what it explains."""

import re
from typing import Any, Final

from .cases import OMITTED, Case, as_ours, read, saying, told
from .comparing import Expected

LISTS: Final = {"list_toolsets": "toolsets", "list_tools": "tools"}
SCHEMAS: Final = ("get_tool_input_schema", "get_tool_output_schema")
META: Final = (*LISTS, *SCHEMAS, "call_tool")
ROUTING: Final = "Routing tool.\n\t"
UNKNOWN: Final = re.compile(r"(?:Routing tool\.\n\t)?Tool '?([^'\n]+?)'? not found\.?\Z")
EXPLAINED: Final = ("get_room_types", "get_room_access_levels")


def rooms_explained(case: Case, expected: Expected) -> Expected | None:
    """The same values in the same order; what each means is told otherwise."""
    if case.tool not in EXPLAINED:
        return None
    recorded, ours = read(told(expected)), read(case.text)
    if recorded is None or _without_descriptions(recorded) != _without_descriptions(ours):
        return None
    return as_ours(case, expected)


def _without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_descriptions(value) for key, value in schema.items() if key != "description"}
    return [_without_descriptions(each) for each in schema] if isinstance(schema, list) else schema


def meta_lists_in_our_form(case: Case, expected: Expected) -> Expected | None:
    """The same names, within an object, so that they are structured content as well."""
    key = LISTS.get(case.recording.tool)
    recorded, ours = read(told(expected)), read(case.text)
    if key is None or not isinstance(recorded, list) or not isinstance(ours, dict):
        return None
    named = [{each["name"] for each in listed} for listed in (recorded, ours.get(key, []))]
    return as_ours(case, expected) if named[0] == named[1] else None


def meta_schemas_are_ours(case: Case, expected: Expected) -> Expected | None:
    """Of the same properties, of which the same are required; descriptions and enumerations are ours."""
    if case.recording.tool not in SCHEMAS:
        return None
    recorded, ours = read(told(expected)), read(case.text)
    if not isinstance(recorded, dict) or not isinstance(ours, dict):
        return None
    inner = next((each for key, each in ours.items() if key in ("inputSchema", "outputSchema")), ours)
    schemas: list[dict[str, Any]] = [recorded, inner if isinstance(inner, dict) else {}]
    names = [(set(each.get("properties", {})), set(each.get("required", []))) for each in schemas]
    # A file may be sent as base64, which the recorded server does not know.
    same = (names[1][0] - {"encoding"}, names[1][1]) == names[0]
    return as_ours(case, expected) if same else None


def no_schema_is_no_error(case: Case, expected: Expected) -> Expected | None:
    """A tool that has no output schema is there all the same, and the answer says so."""
    ours = read(case.text)
    given = case.recording.arguments
    if case.recording.tool != "get_tool_output_schema" or not isinstance(ours, dict) or not isinstance(given, dict):
        return None
    is_there = ours.get("name") == given.get("tool") and ours.get("outputSchema", ...) is None
    return as_ours(case, expected) if is_there and UNKNOWN.search(told(expected)) else None


def meta_arguments_checked(case: Case, expected: Expected) -> Expected | None:
    """What does not fit a meta tool's own schema is refused in the words that every tool of Pegboard is refused in."""
    if case.recording.tool not in META or case.did.requests:
        return None
    given = case.recording.arguments
    superfluous = case.recording.tool == "list_toolsets" and bool(given)
    refused = case.did.result is not None and case.did.result.is_error
    said = "The arguments do not fit" in case.text or "There is no tool" in case.text or "nknown toolset" in case.text
    wrong = case.failed_as_recorded and told(expected).startswith(("Parsing input.", "Toolset '"))
    return as_ours(case, expected) if refused and said and (wrong or superfluous) else None


def toolsets_in_any_case(case: Case, expected: Expected) -> Expected | None:
    """`FILES` is `files`."""
    given = case.recording.arguments
    if case.recording.tool != "list_tools" or not isinstance(given, dict) or not isinstance(given.get("toolset"), str):
        return None
    ours = read(case.text)
    if told(expected) != f"Toolset '{given['toolset']}' not found." or given["toolset"].islower():
        return None
    return as_ours(case, expected) if isinstance(ours, dict) and ours.get("tools") else None


def called_tools_answer_for_themselves(case: Case, expected: Expected) -> Expected | None:
    """What a tool says through call_tool is what it says by itself, without a line around it."""
    text = told(expected)
    if case.recording.tool != "call_tool" or not text.startswith(ROUTING):
        return None
    if UNKNOWN.search(text) is not None or text.endswith(OMITTED):
        return None
    first, *rest = text.removeprefix(ROUTING).split("\n")
    return saying(expected, "\n".join((first, *(line.removeprefix("\t") for line in rest))))


def unknown_tools_in_our_words(case: Case, expected: Expected) -> Expected | None:
    found = UNKNOWN.search(told(expected))
    if found is None or not case.failed_as_recorded or case.did.requests:
        return None
    return as_ours(case, expected) if f"'{found[1]}'" in case.text else None


def misconfigured_in_our_words(case: Case, expected: Expected) -> Expected | None:
    """All that the recorded server says is wrong with its settings is told, within a refusal of our own."""
    if not case.failed_as_recorded or case.did.requests or case.recording.requests:
        return None
    if not case.text.startswith("server_unavailable: ") or "misconfigured" not in case.text:
        return None
    lines = [line.strip() for line in told(expected).split("\n")]
    return as_ours(case, expected) if all(line in case.text for line in lines) else None
