"""What Pegboard does otherwise than it was recorded, each by a name: what is then expected instead, to the letter.

They apply one after the other, each to what the ones before expect. This is the one list of them;
`docs/reference/docspace.md` tells the same to users.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import mended, worded
from .cases import Case
from .comparing import Expected


@dataclass(frozen=True)
class Difference:
    name: str
    why: str
    expects: Callable[[Case, Expected], Expected | None]
    """What is expected instead; None, or the same, where this does not apply."""


DIFFERENCES: Sequence[Difference] = (
    Difference(
        "called tools",
        "What a tool says through call_tool is what it says by itself, without a line around it.",
        worded.called_tools_answer_for_themselves,
    ),
    Difference(
        "long operations",
        "An operation that goes on after twenty polls is asked about until it ends, ten minutes by default.",
        mended.long_operations_awaited,
    ),
    Difference(
        "operation errors",
        "Why an operation failed is told: in DocSpace's own words, or that it is told of no more.",
        mended.operation_errors_told,
    ),
    Difference(
        "tolerant answers",
        "Answers with null, or with a value that is new to a list of choices, are passed on instead of refused.",
        mended.answers_tolerated,
    ),
    Difference(
        "busy DocSpace",
        "A question (GET) that is answered with 429, 502 or 503 is put again, three times in all.",
        mended.busy_asked_again,
    ),
    Difference(
        "credentials kept",
        "What lies on another host is fetched without credentials.",
        mended.credentials_kept,
    ),
    Difference("culture", "The culture of an invitation is sent.", mended.culture_sent),
    Difference("empty files", "A file without content is uploaded, as one empty piece.", mended.empty_files_uploaded),
    Difference(
        "pieces sent again",
        "A piece of a file that DocSpace is too busy for is sent again, four times at most.",
        mended.pieces_sent_again,
    ),
    Difference(
        "omitted arguments",
        "Arguments that are left out are an empty object, as the protocol has it.",
        mended.omitted_arguments_are_none,
    ),
    Difference("web pages", "A web page in place of an answer is called what it is.", mended.web_pages_called_so),
    Difference(
        "base URL",
        "A base URL must begin with http:// or https://, which is checked at the start and told at every call.",
        mended.base_urls_checked,
    ),
    Difference(
        "no user agent",
        "An empty DOCSPACE_USER_AGENT sends no User-Agent at all.",
        mended.no_agent_at_all,
    ),
    Difference(
        "room words", "What a room type or an access level means is told in our own words.", worded.rooms_explained
    ),
    Difference(
        "meta lists",
        "list_toolsets and list_tools answer with an object, so that it is structured content too.",
        worded.meta_lists_in_our_form,
    ),
    Difference(
        "schemas",
        "Schemas enumerate what is allowed, describe it in our words, and let binary files be uploaded.",
        worded.meta_schemas_are_ours,
    ),
    Difference(
        "no output schema",
        "get_tool_output_schema tells that a tool has none, and not that there is no such tool.",
        worded.no_schema_is_no_error,
    ),
    Difference("toolset names", "Meta tools take a toolset's name in upper case as well.", worded.toolsets_in_any_case),
    Difference(
        "meta arguments",
        "Arguments of meta tools are checked by their schemas, and what is wrong is told in Pegboard's words.",
        worded.meta_arguments_checked,
    ),
    Difference(
        "unknown tools",
        "A tool that is not there is refused in Pegboard's words, which say how to find those that are.",
        worded.unknown_tools_in_our_words,
    ),
    Difference(
        "misconfigured",
        "Settings that do not work are told as the reason why the tools are unavailable.",
        worded.misconfigured_in_our_words,
    ),
)
