"""A small board as documents, for the tests of ranking."""

from tests.core.boards import GITHUB

from pegboard.core.model.ids import ToolId
from pegboard.search.documents import SearchDocument


def document(
    name: str, description: str = "", *parameters: str, title: str = "", server: str = "", values: tuple[str, ...] = ()
) -> SearchDocument:
    return SearchDocument(ToolId(GITHUB, name), name, title, description, parameters, values, server)


BOARD = (
    document("create_issue", "Open a new ticket in a repository.", "title", "body"),
    document("list_issues", "List the tickets of a repository.", "state"),
    document("read_file", "Give back what a file holds.", "path"),
    document("write_file", "Put text into a file.", "path", "text"),
    document("send_mail", "Send a letter to somebody.", "recipient", title="Electronic post"),
    document(
        "weather",
        "The forecast for a place.",
        "latitude",
        server="skies~meteo",
        values=("Degrees, northern ones above zero.", "celsius"),
    ),
)
