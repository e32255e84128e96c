"""Contradictions: what a tool is called, says, asks for and is annotated with do not go together."""

import pytest

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.core.scan.findings import ScanFinding, ScanFindingKind, Severity
from pegboard.core.scan.scanner import scan_tool

HARD, SOFT = Severity.HARD, Severity.SOFT
READS: JsonObject = {"readOnlyHint": True}
DESTROYS: JsonObject = {"destructiveHint": True}


def contradictions(spec: ToolSpec) -> list[tuple[Severity, str]]:
    return [
        (each.severity, ".".join(map(str, each.path)))
        for each in scan_tool(spec)
        if each.kind is ScanFindingKind.CONTRADICTION
    ]


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("delete_file", HARD),
        ("githubDeleteBranch", HARD),
        ("drop_table", HARD),
        ("purge-logs", HARD),
        ("send_mail", SOFT),
        ("execute_command", SOFT),
        ("execute_query", None),
        ("remove_background", None),
        ("drop_na", SOFT),
        ("delete_preview", None),
        ("list_deleted", None),
        ("get_delete_status", None),
        ("read_file", None),
        ("", None),
    ],
)
def test_a_name_that_changes_something_contradicts_a_hint_that_it_only_reads(
    name: str, severity: Severity | None
) -> None:
    found = contradictions(ToolSpec(name, annotations=READS))
    assert found == ([] if severity is None else [(severity, "annotations.readOnlyHint")])
    assert contradictions(ToolSpec(name, annotations={"readOnlyHint": False})) == []


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Deletes old rows.", HARD),
        ("Lists rows. Permanently deletes the old ones.", HARD),
        ("Lists rows and deletes the old ones.", HARD),
        ("Publishes a page.", SOFT),
        ("Runs any shell command.", SOFT),
        ("Deletes nothing.", None),
        ("Shows who deletes files.", None),
        ("Posts that mention you.", None),
        ("Lists rows.", None),
    ],
)
def test_a_description_that_changes_something_contradicts_such_a_hint(text: str, severity: Severity | None) -> None:
    found = contradictions(ToolSpec("rows", description=text, annotations=READS))
    assert found == ([] if severity is None else [(severity, "annotations.readOnlyHint")])


@pytest.mark.parametrize(
    "text",
    [
        "A read-only tool.",
        "Read-only: shows the disk.",
        "This tool only reads.",
        "It makes no changes.",
        "Has no side effects.",
        "Nur lesend.",
        "Lecture seule.",
        "只读。",
    ],
)
@pytest.mark.behaviour("scanner.contradictions")
def test_who_says_that_nothing_is_changed_contradicts_a_destroying_name_or_hint(text: str) -> None:
    assert contradictions(ToolSpec("wipe_disk", description=text)) == [(HARD, "description")]
    assert contradictions(ToolSpec("disk", description=text, annotations=DESTROYS)) == [(HARD, "description")]
    assert contradictions(ToolSpec("disk", description=text, annotations=READS)) == []
    assert contradictions(ToolSpec("disk", description=text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Fails when the file is read-only.",
        "Removes the read-only flag.",
        "With dry_run it makes no changes.",
        "If the row is missing, changes nothing.",
    ],
)
def test_what_is_said_of_files_or_under_a_condition_is_no_claim(text: str) -> None:
    assert contradictions(ToolSpec("delete_file", description=text)) == []


@pytest.mark.parametrize(
    ("schema", "text", "path"),
    [
        ({"properties": {"q": {}}, "required": ["q"]}, "Takes no arguments.", "description"),
        ({"properties": {"q": {}}}, "Takes no arguments.", None),
        ({"properties": {"q": {}}}, "The required parameter `token` holds the token.", "description"),
        ({"properties": {"token": {}}}, "The required parameter `token` holds the token.", None),
        ({"properties": {"a": {"properties": {"token": {}}}}}, "The `token` parameter is required.", None),
        (
            {"properties": {"dry": {"description": "Only try. Defaults to true.", "default": False}}},
            "",
            "inputSchema.properties.dry.default",
        ),
        ({"properties": {"dry": {"description": "Only try. Off by default.", "default": False}}}, "", None),
        ({"properties": "none", "required": "all"}, "Takes no arguments.", None),
        ({"properties": {"dry": "true"}}, "", None),
    ],
)
@pytest.mark.behaviour("scanner.contradictions")
def test_a_description_that_does_not_fit_the_schema_is_a_soft_finding(
    schema: dict[str, Json], text: str, path: str | None
) -> None:
    found = contradictions(ToolSpec("t", description=text, input_schema=schema))
    assert found == ([] if path is None else [(SOFT, path)])


def test_a_contradiction_says_what_does_not_go_together() -> None:
    assert scan_tool(ToolSpec("drop_table", "Show table", annotations={"title": "List tables"})) == (
        ScanFinding(
            HARD,
            ScanFindingKind.CONTRADICTION,
            ("title",),
            "The title says 'show', but the name says 'drop'.",
            "Show table",
        ),
        ScanFinding(
            HARD,
            ScanFindingKind.CONTRADICTION,
            ("annotations", "title"),
            "The value at 'annotations.title' says 'list', but the name says 'drop'.",
            "List tables",
        ),
    )
