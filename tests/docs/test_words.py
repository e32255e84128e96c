"""The pages name what the product names: its statuses, and what it prints for clients."""

import json
import re

import pytest
from tests.docs.pages import Page, page, pages

from pegboard.config.keys import root as keys
from pegboard.config.schema.fields import MapField
from pegboard.config.schema.section import ConfigSection
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.server import Trust
from pegboard.surfaces.cli.snippets import snippets
from pegboard.surfaces.mcp.view import OPTION_BY_HEADER

LIKE_A_STATUS = re.compile(r"\b(?:server|disabled|pending)_[a-z_]+\b")


def setting_names(section: ConfigSection) -> set[str]:
    inner = [key.field_type.item if isinstance(key.field_type, MapField) else key.field_type for key in section.keys]
    below = [setting_names(each) for each in inner if isinstance(each, ConfigSection)]
    return {key.name for key in section.keys}.union(*below)


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_status_that_a_page_names_exists(page: Page) -> None:
    named = {*LIKE_A_STATUS.findall(page.text)}
    assert named - {status.value for status in LockStatus} - setting_names(keys.PEGBOARD) == set()


def test_the_explanation_tells_the_statuses_in_their_order() -> None:
    told = re.findall(r"^\d+\. `(\w+)`", page("docs/explanation/how-it-decides.md").prose, re.MULTILINE)
    assert told == [status.value for status in LockStatus]


def test_the_explanation_tells_every_trust_there_is() -> None:
    told = re.findall(r"^\| `(\w+)` \|", page("docs/explanation/trust.md").prose, re.MULTILINE)
    assert told == [trust.value for trust in Trust]


def test_the_page_on_narrowing_tells_every_header_with_its_query_parameter() -> None:
    rows = re.findall(r"^\| `(X-[\w-]+)` \| `(\w+)` \|", page("docs/how-to/narrow-a-request.md").prose, re.MULTILINE)
    told = {header.lower(): parameter for header, parameter in rows}
    assert told == OPTION_BY_HEADER


def test_the_page_on_clients_tells_what_the_gateway_prints() -> None:
    shown = page("docs/how-to/connect-a-client.md")
    program, config, data = "/path/to/.venv/bin/pegboard", "/path/to/pegboard.yaml", "/path/to/data"
    printed = snippets("http://127.0.0.1:8460/mcp", program, config, data)
    line, desktop, cursor, code = re.findall(r"^  \S.*\n((?:    .*\n?)+)", printed, re.MULTILINE)
    told = [block.text for block in shown.blocks if block.language in ("sh", "json")]
    assert told[0] == line.removeprefix("    ")
    assert [json.loads(text) for text in told[1:]] == [json.loads(text) for text in (desktop, cursor, code)]
