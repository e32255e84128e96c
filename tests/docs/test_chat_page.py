"""The reference of the chat tells every member of requests and answers, every event and every status."""

import re
from datetime import UTC, datetime

from tests.docs.pages import page

from pegboard.core.calls.call import MissingConfirmation
from pegboard.gateway.chat.conversation import CallEnd, CallStart, ChatTicketWait
from pegboard.gateway.chat.report import ChatCallReport, ChatReport
from pegboard.gateway.chat.request import ChatLimit, LimitHit
from pegboard.ports.models import ModelFault, ModelServerError
from pegboard.surfaces.chat.request import KNOWN_MEMBERS
from pegboard.surfaces.chat.response import CompletionEnvelope, model_error_rejection

PAGE = page("docs/reference/chat.md")
MADE = ChatCallReport("c1", "add", None, "returned", 0.1, "t1", ("quotes",))


def chapter(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def named(text: str) -> set[str]:
    """What the first column of the tables in a text names."""
    return {name for row in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def test_every_member_of_the_extension_is_told() -> None:
    report = ChatReport(limit_hit=LimitHit(ChatLimit.TIME, "late"), is_estimated=True)
    assert named(chapter("The answer")) == {*report.as_json}


def test_every_member_of_a_call_is_told() -> None:
    (row,) = re.findall(r"^\| `calls` \|.*$", chapter("The answer"), re.MULTILINE)
    assert {*MADE.as_json, "tool"} <= {*re.findall(r"`(\w+)`", row)}
    assert MissingConfirmation.WAITING.value in row


def test_every_member_of_a_request_that_is_not_passed_on_is_told() -> None:
    told = named(chapter("The request")) | {*re.findall(r"`(function\w*)`", chapter("The request"))}
    assert {name.partition(".")[0] for name in told} == KNOWN_MEMBERS - {"stream", "stream_options", "store"}


def test_every_event_of_a_stream_is_told() -> None:
    frame = CompletionEnvelope("id", int(datetime.now(UTC).timestamp()))
    events = (CallStart("c1", "add", None, "{}"), ChatTicketWait("c1", "t1"), CallEnd(MADE, "5"))
    pieces = [frame.event_chunk(event, ChatReport())["pegboard"] for event in events]
    kinds = [piece["event"]["type"] for piece in pieces if isinstance(piece, dict) and isinstance(piece["event"], dict)]
    (sentence,) = re.findall(r"`pegboard\.event`: (.*?)\n\n", chapter("The answer") + "\n\n", re.DOTALL)
    assert re.findall(r"`(\w+)` \(", sentence) == kinds


def test_every_status_of_a_model_server_in_trouble_is_told() -> None:
    rows = re.findall(r"^\| ([0-9, ]+) \|", chapter("Errors"), re.MULTILINE)
    told = {int(status) for row in rows for status in row.split(",")}
    given = {model_error_rejection(ModelServerError(fault, "why"), have_run=False).status for fault in ModelFault}
    assert given <= told
