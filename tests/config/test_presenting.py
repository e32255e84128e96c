"""How tools are shown, as the file says it."""

import pytest
from tests.config.loading import FOLDER, settings

from pegboard.config.settings import InvalidFile, load_settings_text
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.settings import PinnedEntry, PresentationMode, PresentationSettings


@pytest.mark.behaviour("present.chosen_by_the_operator", "present.always_visible")
def test_how_tools_are_shown_is_read_with_its_lines() -> None:
    text = """\
        presentation: auto
        presentation_threshold: 60
        always_visible:
          - "desk:read_*"
          - mcp:dev~github:create_issue
        """
    file = "pegboard.yaml"
    assert settings(text).declared.presentation == PresentationSettings(
        PresentationMode.AUTO,
        60,
        (
            PinnedEntry("desk:read_*", DeclaredAt(file, 4)),
            PinnedEntry("mcp:dev~github:create_issue", DeclaredAt(file, 5)),
        ),
    )
    assert settings("").declared.presentation == PresentationSettings(PresentationMode.DIRECT, 100, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "presentation: fancy",
            "presentation: this must be one of direct, meta, search, deferred, code, auto; it is 'fancy'.",
        ),
        ("presentation_threshold: 0", "presentation_threshold: "),
        ("always_visible: ['mcp:']", "always_visible[0]: 'mcp:' does not fit: "),
        ("always_visible: {}", "always_visible: this must be a list"),
    ],
)
def test_what_is_wrong_about_how_tools_are_shown_is_told(text: str, problem: str) -> None:
    broken = load_settings_text(text, "pegboard.yaml", FOLDER, {})
    assert isinstance(broken, InvalidFile)
    assert str(broken).startswith(f"pegboard.yaml:1: {problem}")
