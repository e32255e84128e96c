"""Names that cross the wire use the glossary: REST, server-sent events, settings, toolset.yaml and the command line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from pegboard.config.schema import document as settings_document
from pegboard.gateway.change_feed import Topic
from pegboard.surfaces.cli.main import command_tree
from pegboard.surfaces.rest.app import document

SCHEMAS = Path(settings_document.__file__).parents[1]
SCHEMA_FILES = (SCHEMAS / "pegboard.schema.json", SCHEMAS / "manifest" / "toolset.schema.json")

WORDS = {
    **dict.fromkeys(("told", "said", "sentence"), "message"),
    **dict.fromkeys(("mend", "mends"), "fix"),
    "grave": "severity",
    "whose": "credentialIdentity or author",
    "begun": "startedAt",
    "bell": "changed",
    "noun": "topic",
    **dict.fromkeys(("peg", "pegs", "wall"), "tool, board"),
    **dict.fromkeys(("flaw", "flaws", "doubts", "trouble"), "problems or error"),
    **dict.fromkeys(("misfit", "misfits"), "mismatches"),
    **dict.fromkeys(("clash", "clashes"), "conflicts"),
    **dict.fromkeys(("struck", "unheard", "unrun", "whence", "forgot", "beside"), "see docs/reference/rest.md"),
    **dict.fromkeys(("lets", "asks"), "passes, requiresTokens"),
    "took": "duration",
    "settle": "wait",
    "most": "max",
    "gone": "missing",
    "wants": "needs_action",
}
"""Old words, with the word of the glossary. They may not be part of a name."""

NAMES = {
    **dict.fromkeys(("why", "what"), "reason, message or description"),
    **dict.fromkeys(("how", "word"), "kind, change, level or verdict"),
    **dict.fromkeys(("on", "switchOn"), "enabled"),
    **dict.fromkeys(("asked", "decided", "made"), "requestedAt, decidedAt, created"),
    **dict.fromkeys(("ended", "more", "about"), "outcome, omitted or otherReasons, subject"),
    **dict.fromkeys(("mark", "seen"), "fingerprint, baseline"),
    **dict.fromkeys(("notes", "naming"), "findings, nameNotes"),
    **dict.fromkeys(("cut", "last", "kept"), "truncated, lastAttemptAt, storedVectors"),
    **dict.fromkeys(("place", "places", "at_once"), "availability, locations, concurrency"),
    **dict.fromkeys(("standing", "waiting", "waits"), "consentTerms, pending"),
    **dict.fromkeys(("takes", "fits", "decides", "stack"), "accepts, matchCount, decidedCount, scoreParts"),
}
"""Whole names of a property, parameter, key or option that say too little."""


def members(schema: Any) -> Iterator[str]:
    """Every property and every value of an enumeration, at any depth."""
    if isinstance(schema, dict):
        for name, inner in schema.items():
            if name == "properties" and isinstance(inner, dict):
                yield from inner
            if name not in ("example", "examples", "description", "default"):
                yield from members(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from members(inner)


def enum_values(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        yield from (value for name, inner in schema.items() if name != "example" for value in enum_values(inner))
    elif isinstance(schema, list):
        yield from (value for inner in schema for value in enum_values(inner))


def rest_names() -> Iterator[str]:
    api = document()
    yield from members(api)
    for methods in api["paths"].values():
        for operation in methods.values():
            yield from (parameter["name"] for parameter in operation.get("parameters", ()))


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield name, inner
            yield from commands(inner, click.Context(inner, parent=context, info_name=name))


def no_application() -> Any:
    raise AssertionError("no command runs here")


def command_line() -> tuple[list[str], list[str]]:
    """The names of all commands, and those of all options."""
    root = command_tree(no_application)
    found = [*commands(root, click.Context(root, info_name="pegboard"))]
    options = [option.lstrip("-") for _, one in found for parameter in one.params for option in parameter.opts]
    return [name for name, _ in found], options


def words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", name).lower())


def old_words(names: Iterator[str] | list[str]) -> dict[str, str]:
    return {name: WORDS[word] for name in names for word in words(name) if word in WORDS}


def old_names(names: Iterator[str] | list[str]) -> dict[str, str]:
    return {name: NAMES[name] for name in names if name in NAMES}


def test_rest_and_events_use_the_words_of_the_glossary() -> None:
    api = document()
    assert old_words(rest_names()) == {}
    assert old_names(rest_names()) == {}
    assert old_words([*api["paths"]]) == {}
    assert old_words(enum_values(api)) == {}
    assert old_words([*api["components"]["schemas"]]) == {}
    assert old_words([topic.value for topic in Topic]) == {}
    [content] = api["paths"]["/api/v1/events"]["get"]["responses"]["200"]["content"].values()
    assert set(re.findall(r"event: (\w+)", content["example"])) == {"hello", "changed"}
    assert set(re.findall(r'"(\w+)":', content["example"])) == {"version", "topic"}


def test_settings_and_manifests_use_the_words_of_the_glossary() -> None:
    keys = [key for file in SCHEMA_FILES for key in members(json.loads(file.read_text("utf-8")))]
    assert {"servers", "mcp_servers", "requires_confirmation"} <= {*keys}, "keys are found"
    assert old_words(keys) == {}
    assert old_names(keys) == {}


def test_commands_and_options_use_the_words_of_the_glossary() -> None:
    names, options = command_line()
    assert {"tickets", "consents"} <= {*names}, "commands are found"
    assert "fingerprint" in options, "options are found"
    assert old_words(names) == {}
    assert old_words(options) == {}
    assert old_names(options) == {}
