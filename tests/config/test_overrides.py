"""Overrides in pegboard.yaml: read with the line of each field, and refused with the line and key of what is wrong."""

import pytest
from tests.config.loading import problems, settings
from tests.config.test_board import verdicts

from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import DeclaredAt
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json

DEV = ToolsetId("dev")


def at(line: int) -> DeclaredAt:
    return DeclaredAt("pegboard.yaml", line)


@pytest.mark.behaviour("overrides.by_every_road", "overrides.whose_word")
def test_every_field_is_read_with_its_line() -> None:
    text = """\
        overrides:
          dev:
            mcp:dev~github:read:
              renderer: markdown
              renderer_config: {content: $return.text}
              name_override: Look
              description_override: Looks
              requires_confirmation: true
              confirmation: ticket
              enabled: true
              arguments:
                path: {pin: "${HOME}"}
                verbose: {hide: true}
                limit:
                  default: 10
                  description: How many
            "*:read_*": {renderer: code}
        """
    assert settings(text, {"HOME": "/srv/me"}).declared.overrides == (
        Override(
            DEV,
            ToolId(ServerKey(DEV, ServerId("github")), "read"),
            renderer="document",
            renderer_config={"content": "$return.text"},
            name_override="Look",
            description_override="Looks",
            requires_confirmation=True,
            confirmation=ConfirmationMode.TICKET,
            enabled=True,
            arguments={
                "path": ArgumentOverride(pin=freeze_json("${HOME}")),
                "verbose": ArgumentOverride(hide=True),
                "limit": ArgumentOverride(default=freeze_json(10), description="How many"),
            },
            is_declared=True,
            origins={
                "renderer": at(4),
                "renderer_config": at(5),
                "name_override": at(6),
                "description_override": at(7),
                "requires_confirmation": at(8),
                "confirmation": at(9),
                "enabled": at(10),
                "arguments.path": at(12),
                "arguments.verbose": at(13),
                "arguments.limit": at(14),
            },
        ),
        Override(DEV, Pattern("*", "read_*"), renderer="code", is_declared=True, origins={"renderer": at(17)}),
    )


@pytest.mark.behaviour("overrides.declared_off_is_operator_policy")
def test_a_declared_enabled_false_is_a_lock_of_the_configuration() -> None:
    text = """\
        servers: {a: {command: x, trust: open}}
        overrides: {a: {"*:w*": {enabled: false}, "a:write": {enabled: true}}}
        """
    assert verdicts(text, "read", "write", "wipe") == {
        "mcp:a~a:read": "open",
        "mcp:a~a:write": "open",
        "mcp:a~a:wipe": "disabled_by_config",
    }


@pytest.mark.behaviour("overrides.misspelled_argument_is_closed")
@pytest.mark.parametrize("key", ["search", "a:search", "a~a:search", "mcp:a~a:search"])
def test_a_declared_pin_of_an_unknown_argument_closes_the_tool_by_every_exact_key(key: str) -> None:
    text = f"""\
        servers: {{a: {{command: x, trust: open}}}}
        overrides: {{a: {{{key}: {{arguments: {{rooot: {{pin: 1}}}}}}, "*:se*": {{arguments: {{x: {{pin: 1}}}}}}}}}}
        """
    assert verdicts(text, "search", "send") == {
        "mcp:a~a:search": "disabled_by_config",
        "mcp:a~a:send": "open",
    }


@pytest.mark.behaviour("overrides.renderer_checked")
@pytest.mark.parametrize(
    ("row", "key", "what"),
    [
        (
            "{renderer: cod}",
            "renderer",
            "this must be one of code, document, markdown, html, frame, editor, terminal, file-diff, patch-diff, "
            "web-search, todo-list, task, file-read, key-value, table, image, json, default; it is 'cod'. Did you mean "
            "'code'?",
        ),
        (
            "{renderer: json, renderer_config: {valeu: 1}}",
            "renderer_config.valeu",
            "the renderer json does not take this. Did you mean 'value'? It takes: value.",
        ),
        ("{name: x}", "name", "unknown key. Write name_override."),
        ("{name_override: ' '}", "name_override", "' ' does not fit: it must not be blank."),
        (
            r'{name_override: "a\u202eb"}',
            "name_override",
            "'a\\u202eb' does not fit: it is one line; control characters, and those that turn the direction of "
            "a text, are not allowed.",
        ),
        (
            r'{arguments: {p: {description: "a\x1b[2Jb"}}}',
            "arguments.p.description",
            "'a\\x1b[2Jb' does not fit: control characters, and those that turn the direction of a text, are not "
            "allowed.",
        ),
        (
            "{}",
            "",
            "this says nothing. Write one of renderer, renderer_config, name_override, description_override, "
            "requires_confirmation, confirmation, enabled, arguments.",
        ),
        ("{arguments: {p: {}}}", "arguments.p", "this says nothing. Write pin, hide, default or description."),
        (
            "{arguments: {p: {pin: }}}",
            "arguments.p.pin",
            "this has no value. Write null for nothing, or remove the key.",
        ),
        ("{arguments: {p: {pin: .inf}}}", "arguments.p.pin", "JSON has no such number. Write a finite one."),
        (
            "{arguments: {p: {pin: {a: ['${env:A}']}}}}",
            "arguments.p.pin",
            "${env:A} is how some editors write it. Write ${A}.",
        ),
        (
            "{arguments: {p: {pin: '${request:X-Token}'}}}",
            "arguments.p.pin",
            "${request:X-Token} stands for a header of each caller's own request, and this is shared by all callers. "
            "Use it under headers of a server with a url, or write ${NAME} for one value for all.",
        ),
        (
            "{arguments: {p: {pin: 1, default: 2}}}",
            "arguments.p.default",
            "what is pinned has no default and no words for callers, who do not see it. Keep one of them.",
        ),
        (
            "{arguments: {p: {hide: true, description: x}}}",
            "arguments.p.description",
            "what is hidden has no default and no words for callers, who do not see it. Keep one of them.",
        ),
        (
            "{arguments: {p: {default: {a: '${A}'}}}}",
            "arguments.p.default",
            "a default is shown to callers, so it cannot stand for something else. Pin it, or write it out; for a "
            "plain ${ write $${.",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_key(row: str, key: str, what: str) -> None:
    place = f"overrides.dev.'*:r*'{'.' if key else ''}{key}"
    assert problems(f"overrides:\n  dev:\n    '*:r*': {row}\n") == [f"pegboard.yaml:3: {place}: {what}"]


@pytest.mark.behaviour("overrides.words_are_bounded")
@pytest.mark.parametrize(("key", "most"), [("name_override", 256), ("description_override", 16_384)])
def test_names_and_descriptions_have_a_longest(key: str, most: int) -> None:
    def said(many: int) -> str:
        return f"servers: {{dev: {{command: x}}}}\noverrides: {{dev: {{'*:r*': {{{key}: '{'x' * many}'}}}}}}"

    assert len(settings(said(most)).declared.overrides) == 1
    (problem,) = problems(said(most + 1))
    assert problem.endswith(f"does not fit: it has {most + 1} characters, and {most} are the most.")


@pytest.mark.behaviour("overrides.words_are_bounded")
def test_a_description_may_have_lines_and_any_letters() -> None:
    (row,) = settings(
        'servers: {dev: {command: x}}\noverrides: {dev: {"*:r*": {description_override: "a\\n\\tb שלום 👩\u200d💻"}}}'
    ).declared.overrides
    assert row.description_override == "a\n\tb שלום 👩\u200d💻"


def test_a_tool_of_another_toolset_is_refused_where_it_stands() -> None:
    assert problems("overrides: {dev: {'mcp:docs~x:y': {enabled: true}}}") == [
        "pegboard.yaml:1: overrides.dev.'mcp:docs~x:y': 'mcp:docs~x:y' is a tool of toolset 'docs'. "
        "Write the override there."
    ]


def test_no_problem_shows_what_is_pinned() -> None:
    told = problems("overrides: {a: {b: {arguments: {c: {pin: s3cret, hide: true, default: s3cret}}}}}")
    assert told
    assert "s3cret" not in str(told)


@pytest.mark.behaviour("overrides.pin_by_reference")
def test_a_pin_that_refers_to_nothing_is_a_warning() -> None:
    text = "servers: {dev: {command: x}}\noverrides: {dev: {'*:*': {arguments: {p: {pin: ['${NOPE}']}}}}}"
    (warning,) = settings(text).warnings
    assert (warning.line, warning.key) == (2, "overrides.dev.'*:*'.arguments.p.pin")
    assert "NOPE is not set" in warning.message


def test_overrides_of_a_toolset_that_does_not_exist_are_an_error() -> None:
    text = "servers: {github: {command: x}}\noverrides: {githb: {'*:*': {enabled: true}}}"
    (problem,) = settings(text).unknown_toolsets(())
    assert (problem.line, problem.key) == (2, "overrides.githb")
    assert problem.message.startswith("unknown toolset 'githb'. Did you mean 'github'?")
    optional = "overrides: {githb: {'*:*': {enabled: false, optional: true}}}"
    assert settings(optional).unknown_toolsets(()) == ()
    assert [row.is_optional for row in settings(optional).declared.overrides] == [True]
