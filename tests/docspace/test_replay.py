"""The replay told right from wrong: a puppet that does as recorded matches, and every slip of it is found."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from benchmarks.docspace_replay.__main__ import main
from benchmarks.docspace_replay.addresses import Ports, addresses, environment_of, primary_of
from benchmarks.docspace_replay.comparing import same, same_body
from benchmarks.docspace_replay.differences import DIFFERENCES
from benchmarks.docspace_replay.recordings import BadRecordingsError, Recording, Result, read
from benchmarks.docspace_replay.replay import replayed
from benchmarks.docspace_replay.report import Verdict, as_json, as_text
from tests.docspace.puppet import Turn, puppets, with_request

FIXTURE = Path(__file__).with_name("recordings.json")
PATIENCE = 60
JSON_HEADERS = {"accept": "application/json", "authorization": "Bearer k1", "user-agent": "x"}
ENVELOPE: dict[str, Any] = {
    "response": {"id": 5},
    "links": [{"action": "GET", "href": "http://127.0.0.1:4711/api/2.0/x"}],
    "status": 0,
    "statusCode": 200,
}


def written(folder: Path, *recordings: object) -> Path:
    file = folder / "recordings.json"
    file.write_text(json.dumps(list(recordings)), "utf-8")
    return file


def renamed(**changes: Any) -> dict[str, Any]:
    """A recording of a change of a file's name, as a file holds it."""
    recording: dict[str, Any] = {
        "tool": "update_file",
        "note": "a name",
        "arguments": {"fileId": 5, "title": "new.txt"},
        "requests": [
            {
                "method": "PUT",
                "path": "/api/2.0/files/file/5",
                "query_raw": "",
                "query": [],
                "headers": {**JSON_HEADERS, "content-type": "application/json", "accept-language": "*"},
                "json": {"title": "new.txt"},
                "body_raw": '{"title":"new.txt"}',
            }
        ],
        "stub_responses": [{"status": 200, "headers": {"Content-Type": "application/json"}, "body": ENVELOPE}],
        "notifications": [{"method": "notifications/message"}],
        "result": {
            "content": [{"type": "text", "text": json.dumps(ENVELOPE, indent=2)}],
            "structuredContent": ENVELOPE,
        },
        "something new": True,
    }
    return recording | changes


async def _replayed(recordings: list[Recording], turn: Turn = lambda recording: recording) -> list[Verdict]:
    with anyio.fail_after(PATIENCE):
        return await replayed(recordings, puppets(recordings, turn))


@pytest.mark.anyio
@pytest.mark.slow
async def test_whoever_does_as_recorded_matches_in_every_call() -> None:
    """But for calls that are given up, or whose requests were recorded in part only: a puppet cannot make those."""
    recordings = [
        each
        for each in read(FIXTURE)
        if each.result is not None and not any("chars total" in str(request.body) for request in each.requests)
    ]
    # A redirect is made by the API and followed; the puppet makes each request by itself, and one after the other.
    verdicts = await _replayed(recordings)
    assert [each.recording.title for each in verdicts if not each.matched] == []
    assert len(verdicts) > 140


TEXT = json.dumps(ENVELOPE, indent=2)
SLIPS: dict[str, tuple[Turn, list[str]]] = {
    "another path": (with_request(0, path="/api/2.0/files/file/6"), ["request 1"]),
    "another query": (with_request(0, query="fields=id"), ["request 1"]),
    "another method": (with_request(0, method="POST"), ["request 1"]),
    "another body": (with_request(0, body='{"title":"old.txt"}'), ["request 1, body"]),
    "no body": (with_request(0, body=None), ["request 1, body"]),
    "another credential": (
        with_request(0, headers={**JSON_HEADERS, "content-type": "application/json", "authorization": "Bearer k2"}),
        ["request 1, header authorization"],
    ),
    "no request": (lambda recording: replace(recording, requests=()), ["request 1"]),
    "one request more": (
        lambda recording: replace(recording, requests=recording.requests * 2),
        ["request 2"],
    ),
    "another text": (lambda recording: replace(recording, result=Result(("x",), ENVELOPE)), ["text"]),
    "an error": (lambda recording: replace(recording, result=Result((TEXT,), ENVELOPE, True)), ["error flag"]),
    "no structured content": (lambda recording: replace(recording, result=Result((TEXT,))), ["structured content"]),
}


@pytest.mark.anyio
@pytest.mark.parametrize("slip", SLIPS)
async def test_every_slip_is_found_where_it_is(tmp_path: Path, slip: str) -> None:
    turn, where = SLIPS[slip]
    (verdict,) = await _replayed(read(written(tmp_path, renamed())), turn)
    assert ([found.where for found in verdict.discrepancies], verdict.on_purpose) == (where, ())


@pytest.mark.anyio
async def test_a_file_of_another_day_with_other_addresses_and_keys_is_replayed(tmp_path: Path) -> None:
    elsewhere = json.loads(json.dumps(renamed()).replace("http://127.0.0.1:4711", "https://docspace.example.com"))
    error = "Updating file.\n\tGET https://docspace.example.com/api/2.0/files/file/5: 404 gone"
    failed = elsewhere | {"result": {"content": [{"type": "text", "text": error}], "isError": True}}
    recordings = read(written(tmp_path, elsewhere, failed))
    assert [each.matched for each in await _replayed(recordings)] == [True, True]
    ports = Ports(1234)
    where = addresses(recordings, ports)
    assert environment_of(recordings[0], recordings, where) == {
        "DOCSPACE_BASE_URL": "http://127.0.0.1:1234/",
        "DOCSPACE_API_KEY": "k1",
        "DOCSPACE_USER_AGENT": "x",
    }
    assert where.to_recorded("GET http://127.0.0.1:1234/x: connect 127.0.0.1:1234, not 127.0.0.1:12345") == (
        "GET https://docspace.example.com/x: connect docspace.example.com, not 127.0.0.1:12345"
    )


@pytest.mark.parametrize(
    ("authorization", "cookie", "variables"),
    [
        ("Bearer k", None, {"DOCSPACE_API_KEY": "k"}),
        ("t", "asc_auth_key=t", {"DOCSPACE_AUTH_TOKEN": "t"}),
        ("Basic YTpiOmM=", None, {"DOCSPACE_USERNAME": "a", "DOCSPACE_PASSWORD": "b:c"}),
        ("Basic !", None, {"DOCSPACE_AUTHORIZATION": "Basic !"}),
        ("Own abc", None, {"DOCSPACE_AUTHORIZATION": "Own abc"}),
        (None, None, {"DOCSPACE_API_KEY": "sk-test"}),
    ],
)
def test_the_credential_of_calls_without_variables_is_read_off_their_requests(
    tmp_path: Path, authorization: str | None, cookie: str | None, variables: dict[str, str]
) -> None:
    headers = {"authorization": authorization} if authorization else {}
    headers |= {"cookie": cookie} if cookie else {}
    request = {"method": "GET", "path": "/api/2.0/x", "headers": headers}
    recordings = read(written(tmp_path, renamed(requests=[request])))
    found = environment_of(recordings[0], recordings, addresses(recordings, Ports(1)))
    assert found == {"DOCSPACE_BASE_URL": "http://127.0.0.1:1/", **variables}


def test_the_listener_of_the_recorded_server_is_not_ours_to_move(tmp_path: Path) -> None:
    given = {
        "DOCSPACE_BASE_URL": "http://localhost:9/p",
        "DOCSPACE_TRANSPORT": "http",
        "DOCSPACE_PORT": "1",
        "DOCSPACE_API_KEY": "k",
        "HOME": "/",
    }
    recordings = read(written(tmp_path, renamed(env=given)))
    assert environment_of(recordings[0], recordings, addresses(recordings, Ports(1, [2]))) == {
        "DOCSPACE_BASE_URL": "http://localhost:2/p",
        "DOCSPACE_API_KEY": "k",
        "DOCSPACE_USER_AGENT": "x",
    }
    assert primary_of(recordings) == "http://127.0.0.1:4711"


def test_long_texts_are_written_out_and_long_bodies_compared_by_their_ends(tmp_path: Path) -> None:
    (recording,) = read(
        written(tmp_path, renamed(arguments={"content": "<5 chars of 'é'>", "list": ["<2 chars of 'a'>"]}))
    )
    assert recording.arguments == {"content": "ééééé", "list": ["aa"]}
    head = '--<BOUNDARY>\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\n\r\n'
    total = len(head) + 1000 + len("\r\n--<BOUNDARY>--\r\n")
    shortened = f"{head}zz...<{total} chars total>...zz\r\n--<BOUNDARY>--\r\n"
    kind = "multipart/form-data; boundary=b0"

    def sent(content: str, filename: str = "blob") -> bytes:
        text = (
            f'--b0\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n\r\n{content}\r\n--b0--\r\n'
        )
        return text.encode()

    assert same_body(shortened, sent("z" * 1000), kind)
    assert not same_body(shortened, sent("z" * 1001), kind)
    assert not same_body(shortened, sent("z" * 999 + "y"), kind)
    assert not same_body(shortened, sent("z" * 1000, "blub"), kind)
    assert not same_body(shortened, b"no parts", kind)


@pytest.mark.parametrize(
    ("recorded", "ours", "are_same"),
    [
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ({"createOn": "2026-11-15T02:24:37.225Z"}, {"createOn": "2027-01-01T00:00:00.000Z"}, True),
        ({"createOn": "2026-11-15T02:24:37.225Z"}, {"createOn": "today"}, False),
        ({"created": "2026-11-15T02:24:37.225Z"}, {"created": "2027-01-01T00:00:00.000Z"}, False),
    ],
)
def test_bodies_are_the_same_when_their_json_is(recorded: object, ours: object, are_same: bool) -> None:
    assert same(recorded, ours) is are_same


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "this is not JSON"),
        ("7", "expected a list of recordings"),
        ('{"calls": []}', "expected a list of recordings"),
        ("[]", "there is nothing to replay"),
        ("[5]", "recording 1: expected an object, but found 5"),
        ("[{}]", "recording 1: tool: expected a text, but found nothing"),
        ('[{"tool": "a"}]', r"recording 1 \(a\): result is missing"),
        ('[{"tool": "a", "result": 3}]', r"recording 1 \(a\): result: expected an object, but found 3"),
        ('[{"tool": "a", "result": null, "requests": {}}]', r"requests: expected a list, but found \{\}"),
        ('[{"tool": "a", "result": null, "requests": [{"path": "/"}]}]', "request 1: method: expected a text"),
        ('[{"tool": "a", "result": null, "env": {"A": 1}}]', "env: A: expected a text, but found 1"),
        (
            '[{"tool": "a", "result": null, "stub_responses": [{"status": "ok"}]}]',
            'stub response 1: status: expected a whole number, but found "ok"',
        ),
        ('[{"tool": "a", "result": null, "stub_responses": [{"status": 99}]}]', "99 is no final status"),
        ('[{"tool": "a", "result": null, "arguments": "<999999999 chars of \'a\'>"}]', "more than this replay sends"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "recordings.json"
    file.write_text(text, "utf-8")
    with pytest.raises(BadRecordingsError, match=why):
        read(file)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"["])
def test_an_unreadable_file_ends_the_command_with_words_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    file = tmp_path / "recordings.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main([str(file), "--json"])
    told = capsys.readouterr()
    assert (ended.value.code, told.out, str(file) in told.err) == (2, "", True)


def test_a_tool_that_was_never_recorded_is_told_with_those_that_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([str(written(tmp_path, renamed())), "--tool", "nope"])
    assert "no call of nope. It has calls of update_file." in capsys.readouterr().err


@pytest.mark.anyio
async def test_the_report_tells_per_tool_what_matched_and_where_the_rest_differs(tmp_path: Path) -> None:
    other = renamed(tool="create_folder", note="")
    recordings = read(written(tmp_path, renamed(), other))

    def turn(recording: Recording) -> Recording:
        return replace(recording, result=Result(("x",))) if recording.tool == "create_folder" else recording

    verdicts = await _replayed(recordings, turn)
    why = {difference.name: difference.why for difference in DIFFERENCES}
    told = as_json("f.json", verdicts, why)
    assert {key: told[key] for key in ("calls", "matched", "on_purpose", "differs", "tools")} == {
        "calls": 2,
        "matched": 1,
        "on_purpose": 0,
        "differs": 1,
        "tools": [
            {"tool": "update_file", "calls": 1, "matched": 1, "on_purpose": 0, "differs": 0, "names": {}},
            {"tool": "create_folder", "calls": 1, "matched": 0, "on_purpose": 0, "differs": 1, "names": {}},
        ],
    }
    (differing,) = told["differing_calls"]
    assert (differing["number"], [each["where"] for each in differing["differences"]]) == (
        2,
        ["text", "structured content"],
    )
    assert "2. create_folder\n  text: recorded " in as_text("f.json", verdicts, why)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--json"], []], ids=["json", "table"])
def test_the_command_replays_a_file_through_pegboard_serve_and_ends_with_one_where_something_differs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    lied = renamed(note="not so", result={"content": [{"type": "text", "text": "File renamed."}]})
    assert main([str(written(tmp_path, renamed(), lied)), *words]) == 1
    told = capfd.readouterr()
    assert "gateway 1 of 1: 2 calls" in told.err
    if words:
        found = json.loads(told.out)
        assert [found[key] for key in ("benchmark", "calls", "matched", "on_purpose", "differs")] == [
            "docspace_replay",
            2,
            1,
            0,
            1,
        ]
        assert [each["note"] for each in found["differing_calls"]] == ["not so"]
    else:
        assert "2. update_file: not so\n  text: recorded 'File renamed.'" in told.out
