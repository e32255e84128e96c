"""Defects of the recorded server that are mended here, each as what is expected instead of the recorded."""

import json
import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from .cases import DONE, OMITTED, Case, as_ours, polls, pretty, read, saying, told
from .comparing import Expected, same
from .recordings import Recording, Request, Response, Result

BUSY: Final = (429, 502, 503)
LOST: Final = "DocSpace tells nothing more of operation {}, which may be done. Look before you try again."
UNRESOLVED: Final = re.compile(r"(\t*)(\d+) out of \d+ operations are unresolved\.\Z")
NOT_TOLERATED: Final = re.compile(
    r"Parsing response\.(?:\n\t+[^\n]*(?:received null|invalid_value Invalid option[^\n]*))+\Z"
)
WEB_PAGE: Final = "This is a web page, not the API of a DocSpace. Check the base URL "
UNFINISHED: Final = "Uploading file.\n\tUpload session not completed."
SECRET: Final = ("authorization", "cookie")
UPLOADER: Final = "/ChunkedUploader.ashx"
MOST_PIECES: Final = 4


def operation_errors_told(case: Case, expected: Expected) -> Expected | None:
    """After the recorded lines, one for each failed operation: the API's own words, or that it is told of no more."""
    found = UNRESOLVED.search(told(expected))
    if found is None:
        return None
    lines = [f"{found[1]}\t{' '.join(why.split())}" for why in _why_each_failed(case.recording) if why]
    return saying(expected, "\n".join((told(expected), *lines))) if lines else None


def _why_each_failed(recording: Recording) -> list[str]:
    """What the last poll says of each operation that was begun; and those of which no poll says anything."""
    last: dict[Any, str] = {}
    begun: list[Any] = []
    polled: set[Any] = set()
    for request, response in zip(recording.requests, recording.responses, strict=False):
        if not isinstance(response, Response) or not isinstance(response.body, dict):
            continue
        answer = response.body.get("response")
        operations = [
            each
            for each in (answer if isinstance(answer, list) else [answer])
            if isinstance(each, dict) and "id" in each
        ]
        if polls(request):
            polled.update(each["id"] for each in operations)
        elif request.method == "GET":
            continue
        else:
            begun = [each["id"] for each in operations]
        last.update((each["id"], str(each.get("error") or "")) for each in operations)
    return [last.get(id) or ("" if id in polled else LOST.format(id)) for id in begun]


def long_operations_awaited(case: Case, expected: Expected) -> Expected | None:
    """The recorded server gave up after twenty polls; ours asks on, and hears of the end."""
    if UNRESOLVED.search(told(expected)) is None or case.tool not in DONE:
        return None
    if not case.further or not all(polls(request) for request in case.further):
        return None
    more = tuple(case.recording.requests[-1] for _ in case.further)
    return saying(replace(expected, requests=expected.requests + more), DONE[case.tool], is_error=False)


def answers_tolerated(case: Case, expected: Expected) -> Expected | None:
    """An answer with null or a new value is passed on, and the call goes on as with any other."""
    if NOT_TOLERATED.search(told(expected)) is None or not case.answers:
        return None
    if case.further:
        # What comes next was never recorded, since the recorded server stopped here. That ours goes on is the point.
        return as_ours(case, replace(expected, requests=expected.requests + case.further))
    tool, body = case.tool, case.answers[-1].body
    if tool in DONE:
        return saying(expected, DONE[tool], is_error=False)
    return replace(expected, result=Result((pretty(body),), body)) if isinstance(body, dict) else None


def busy_asked_again(case: Case, expected: Expected) -> Expected | None:
    """A question alone, at most twice more, and the same in the end."""
    if not case.recording.requests or len(case.recording.requests) != len(case.answers):
        return None
    requests: list[Request] = []
    made = list(case.did.requests)
    for request, response in zip(case.recording.requests, case.answers, strict=True):
        requests.append(request)
        if request.method == "GET" and response.status in BUSY:
            again = made[len(requests) : len(requests) + 2]
            requests += [request for each in again if (each.line, each.body) == (request.line, request.body)]
    return replace(expected, requests=tuple(requests))


def credentials_kept(case: Case, expected: Expected) -> Expected | None:
    """What lies with another origin is fetched without credentials: a download, or where an answer redirects to."""
    requests = []
    for place, request in enumerate(expected.requests):
        foreign = place > 0 and _is_foreign(case.recording, place)
        headers = {name: value for name, value in request.headers.items() if name not in SECRET}
        requests.append(replace(request, headers=headers) if foreign else request)
    return replace(expected, requests=tuple(requests))


def _is_foreign(recording: Recording, place: int) -> bool:
    """Whether an answer before this request sent it to another origin than the API's."""
    path, base = recording.requests[place].path, _api_origin(recording)
    for response in recording.responses[:place]:
        if isinstance(response, Response):
            for url in _addresses(response):
                parts = urlsplit(url)
                if parts.scheme and parts.path == path and base not in (None, f"{parts.scheme}://{parts.netloc}"):
                    return True
    return False


def _api_origin(recording: Recording) -> str | None:
    named = (recording.environment or {}).get("DOCSPACE_BASE_URL")
    links = [link for each in recording.responses if isinstance(each, Response) for link in _links(each.body)]
    url = named or (links[0] if links else None)
    if url is None:
        return None
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _links(body: Any) -> list[str]:
    links = body.get("links") if isinstance(body, dict) else None
    return [each["href"] for each in links or [] if isinstance(each, dict) and isinstance(each.get("href"), str)]


def _addresses(response: Response) -> list[str]:
    """Where operations say that their files lie, and where an answer redirects to."""
    found = [value for name, value in response.headers.items() if name.lower() == "location"]
    answer = response.body.get("response") if isinstance(response.body, dict) else None
    each_told = answer if isinstance(answer, list) else [answer]
    return found + [each["url"] for each in each_told if isinstance(each, dict) and isinstance(each.get("url"), str)]


def culture_sent(case: Case, expected: Expected) -> Expected | None:
    arguments = case.arguments
    if case.tool != "set_room_security" or not isinstance(arguments, dict):
        return None
    if not isinstance(arguments.get("culture"), str) or not expected.requests:
        return None
    (request,) = expected.requests
    body = read(request.body if isinstance(request.body, str) else "")
    if not isinstance(body, dict):
        return None
    sent = json.dumps({**body, "culture": arguments["culture"]})
    return replace(expected, requests=(replace(request, body=sent),))


def empty_files_uploaded(case: Case, expected: Expected) -> Expected | None:
    """One piece without content, where the recorded server sent none and failed."""
    if case.tool != "upload_file" or told(expected) != UNFINISHED or len(case.further) != 1:
        return None
    (piece,) = case.further
    head = 'Content-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: text/plain'
    chunk = Request(
        "POST",
        piece.path,
        piece.query,
        {**expected.requests[-1].headers, "content-type": "multipart/form-data; boundary=<BOUNDARY>"},
        f"--<BOUNDARY>\r\n{head}\r\n\r\n\r\n--<BOUNDARY>--\r\n",
    )
    done = {"success": True, "data": {"uploaded": True}, "message": ""}
    return saying(replace(expected, requests=(*expected.requests, chunk)), pretty(done), is_error=False)


def pieces_sent_again(case: Case, expected: Expected) -> Expected | None:
    """A piece of a file that DocSpace was too busy for is sent again, four times at most, and the same in the end."""
    last = case.answers[-1].status if case.answers else 0
    if case.tool != "upload_file" or last not in BUSY or not expected.requests or not case.further:
        return None
    piece = expected.requests[-1]
    if not piece.path.endswith(UPLOADER) or len(case.further) >= MOST_PIECES:
        return None
    return replace(expected, requests=(*expected.requests, *(piece for _ in case.further)))


def omitted_arguments_are_none(case: Case, expected: Expected) -> Expected | None:
    """No arguments are an empty object, as the protocol has it: so a tool that needs none is called."""
    if case.arguments is not None or not told(expected).endswith(OMITTED):
        return None
    if case.did.requests:
        (request, *_), asked = case.did.requests, expected.requests
        nothing = {"conflictResolveType": 2, "deleteAfter": False}
        if asked or request.method != "PUT" or not same(nothing, read(_text(request))):
            return None
        return as_ours(case, replace(expected, requests=case.did.requests))
    complains = case.failed_as_recorded and case.text.startswith("Parsing input.\n\t\t")
    return as_ours(case, expected) if complains else None


def _text(request: Request) -> str:
    body = request.body or ""
    return body.decode() if isinstance(body, bytes) else body


def web_pages_called_so(case: Case, expected: Expected) -> Expected | None:
    """One line more, that says what to correct."""
    if not case.text.startswith(f"{told(expected)}\n") or not case.failed_as_recorded:
        return None
    line = case.text.removeprefix(f"{told(expected)}\n")
    tabs = len(told(expected).rsplit("\n", 1)[-1]) - len(told(expected).rsplit("\n", 1)[-1].lstrip("\t"))
    is_hint = line.startswith("\t" * (tabs + 1) + WEB_PAGE) and "\n" not in line
    return as_ours(case, expected) if is_hint else None


def base_urls_checked(case: Case, expected: Expected) -> Expected | None:
    """A base URL of another scheme is found at the start, and every call is told so."""
    url = (case.recording.environment or {}).get("DOCSPACE_BASE_URL", "").strip()
    if not url or urlsplit(url).scheme in ("http", "https") or not case.failed_as_recorded:
        return None
    fault = "Expected a URL that begins with http:// or https://"
    return as_ours(case, expected) if fault in case.text and url in case.text else None


def no_agent_at_all(case: Case, expected: Expected) -> Expected | None:
    """An empty DOCSPACE_USER_AGENT sends no such header, where the recorded server's library put its own name."""
    if (case.recording.environment or {}).get("DOCSPACE_USER_AGENT", "-").strip():
        return None
    bare = [
        replace(request, headers={name: value for name, value in request.headers.items() if name != "user-agent"})
        for request in expected.requests
    ]
    return replace(expected, requests=tuple(bare))
