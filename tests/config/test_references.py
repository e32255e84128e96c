"""References are checked when they are loaded and read only when they are needed."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.config.references import (
    CALLER_REFERENCE_PATTERN,
    MAX_FILE_BYTES,
    REFERENCE_PATTERN,
    FileReference,
    HeaderReference,
    Literal,
    MalformedText,
    VariableReference,
    escape_literal,
    expander,
    expander_for_callers,
    has_reference,
    header_references,
    is_only_references,
    parse_references,
)
from pegboard.ports.providers import UnresolvedReference

ENVIRON = {"NAME": "value", "EMPTY": "", "HOME": "/users/ada", "TRICKY": "${NAME} $${"}


@pytest.mark.behaviour("config.env_reference")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("plain $NAME $ } {", "plain $NAME $ } {"),
        ("${NAME}", "value"),
        ("a${NAME}b${NAME}", "avaluebvalue"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${NONE:-x y:-$z}", "x y:-$z"),
        ("${NONE:-}", ""),
        ("${NAME:-x}", "value"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("${NAME}$${NAME}${NAME}", "value${NAME}value"),
        ("$${${NAME}", "${value"),
        ("${TRICKY}", "${NAME} $${"),
    ],
)
def test_a_text_is_expanded(text: str, value: str) -> None:
    assert expander(ENVIRON, Path("/"))(text) == value


@pytest.mark.behaviour("config.missing_reference_is_error")
def test_a_variable_that_is_not_set_is_no_empty_text() -> None:
    assert expander({}, Path("/"))("Bearer ${A}, ${B}") == UnresolvedReference(
        "${A} stands for nothing: the environment variable A is not set. "
        "Set it before the gateway starts, or write ${A:-a default}. "
        "${B} stands for nothing: the environment variable B is not set. "
        "Set it before the gateway starts, or write ${B:-a default}."
    )


def test_the_environment_is_read_at_the_moment_of_need() -> None:
    environ: dict[str, str] = {}
    expand = expander(environ, Path("/"))
    assert isinstance(expand("${LATER}"), UnresolvedReference)
    environ["LATER"] = "now"
    assert expand("${LATER}") == "now"


@pytest.mark.behaviour("config.file_reference")
def test_a_file_is_read_from_the_folder_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "token").write_bytes(b"\xef\xbb\xbfs3cret \r\n\n")
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "link").symlink_to("secrets/token")
    expand = expander({"HOME": str(tmp_path)}, tmp_path)
    assert expand("Bearer ${file:secrets/token}!") == "Bearer s3cret !"
    assert expand("${file: link }") == "s3cret "
    assert expand("${file:two}") == "a\nb"
    assert expand(f"${{file:{tmp_path}/two}}") == "a\nb"
    assert expander({"HOME": str(tmp_path)}, Path("/"))("${file:~/two}") == "a\nb"


def test_a_file_that_holds_no_value_is_told_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"hunter2\xff")
    (tmp_path / "nul").write_bytes(b"hunter2\0")
    (tmp_path / "huge").write_bytes(b"h" * (MAX_FILE_BYTES + 1))
    (tmp_path / "limit").write_bytes(b"h" * MAX_FILE_BYTES)
    os.mkfifo(tmp_path / "pipe")
    expand = expander({}, tmp_path)
    for name, why in {
        "none": f"there is no file {tmp_path}/none. Create it, or correct the path.",
        "folder": f"{tmp_path}/folder is a folder. Name a file.",
        "pipe": f"{tmp_path}/pipe is no regular file. Name a file.",
        "binary": f"{tmp_path}/binary is not UTF-8 text.",
        "nul": f"{tmp_path}/nul holds a NUL character, so it is no text.",
        "huge": f"{tmp_path}/huge is larger than 64 KiB. Name a file that holds one value.",
        "limit/x": f"{tmp_path}/limit/x cannot be read: Not a directory.",
    }.items():
        assert expand(f"${{file:{name}}}") == UnresolvedReference(f"${{file:{name}}} stands for nothing: {why}")
    assert expand("${file:limit}") == "h" * MAX_FILE_BYTES
    assert expand("${file:a\0b}") == UnresolvedReference("${file:a\0b} stands for nothing: no file can have this name.")


FORMS = "Write ${NAME}, ${NAME:-default} or ${file:path}; for a plain ${ write $${."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${", f"a reference is opened by ${{ and never closed. {FORMS}"),
        ("${NAME", f"a reference is opened by ${{ and never closed. {FORMS}"),
        ("${}", f"this reference names nothing. {FORMS}"),
        ("${file:}", f"the reference to file is not well formed. {FORMS}"),
        ("${file: }", f"the reference to file is not well formed. {FORMS}"),
        ("${NAME-x}", f"the reference to NAME is not well formed. {FORMS}"),
        ("${1X}", f"this reference names nothing. {FORMS}"),
        ("${A:-${B}}", f"a default cannot hold another reference. {FORMS}"),
        ("${env:TOKEN}", "${env:TOKEN} is how some editors write it. Write ${TOKEN}."),
        ("${input:key}", f"there is nobody here to ask for an input. Set a variable and refer to it. {FORMS}"),
    ],
)
def test_a_malformed_reference_is_told_how_to_write_it(text: str, why: str) -> None:
    assert parse_references(f"before {text}") == MalformedText(why)
    assert expander(ENVIRON, Path("/"))(text) == UnresolvedReference(why)


def test_a_text_is_taken_apart() -> None:
    assert parse_references("a$${b}${C}${D:-e}${file: f/g }h") == (
        Literal("a${"),
        Literal("b}"),
        VariableReference("C"),
        VariableReference("D", "e"),
        FileReference("f/g"),
        Literal("h"),
    )


texts = st.text(st.sampled_from("$${}:-file AN_0é\n"), max_size=24) | st.text(max_size=10)


@given(texts)
def test_the_form_for_editors_accepts_what_the_loader_accepts(text: str) -> None:
    assert (re.fullmatch(REFERENCE_PATTERN, text) is not None) == (
        not isinstance(parse_references(text), MalformedText)
    )


@given(texts)
def test_any_text_can_be_written_as_itself(text: str) -> None:
    assert expander({}, Path("/"))(escape_literal(text)) == text
    assert not has_reference(escape_literal(text))


@given(st.lists(st.sampled_from(["x", "$", "${A}", "$${", "}"]), max_size=6).map("".join))
def test_what_is_not_referred_to_is_taken_over_as_it_is(text: str) -> None:
    split = parse_references(text)
    assert isinstance(split, tuple)
    expected = "".join(part.text if isinstance(part, Literal) else "value" for part in split)
    assert expander({"A": "value"}, Path("/"))(text) == expected


@pytest.mark.parametrize(
    ("text", "is_only"),
    [
        ("", True),
        ("${A}", True),
        ("${A}${file:b}", True),
        ("${A:-}", True),
        ("${A:-x}", False),
        ("a${A}", False),
        ("${", False),
    ],
)
def test_only_references_are_no_secret(text: str, is_only: bool) -> None:
    assert is_only_references(text) is is_only


HEADERS = {
    b"x-token": b"${NAME}",
    b"x-empty": b"",
    b"x-lines": b"a\r\nb: c",
    b"x-umlaut": "ä".encode(),
    b"a": b"1",
    b"x-long": b"x" * 8_193,
}
LONG = "your header X-Long has 8193 bytes, and 8192 are the most. Send a shorter value."
MISSING = "it needs a header of your own: send {} with your request."
BAD = "your header {} holds what cannot be passed on. Send one line of printable ASCII characters."


@pytest.mark.behaviour("per_caller.missing_header_is_told")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Bearer ${request:X-Token}", "Bearer ${NAME}"),
        ("${request:x-TOKEN}-${NAME}", "${NAME}-value"),
        ("${request:A}${request:a}", "11"),
        ("${request:X-Empty:-guest}", "guest"),
        ("${request:None:-guest}", "guest"),
        ("${request:A:-guest}", "1"),
        ("$${request:A}", "${request:A}"),
        ("${request:X-Empty}", UnresolvedReference(MISSING.format("X-Empty"))),
        ("${request:X-None:-}", UnresolvedReference(MISSING.format("X-None"))),
        ("${request:X-Lines}", UnresolvedReference(BAD.format("X-Lines"))),
        ("${request:X-Umlaut}", UnresolvedReference(BAD.format("X-Umlaut"))),
        ("${request:X-Long}", UnresolvedReference(LONG)),
        ("${request:No}${request:X-Lines}", UnresolvedReference(f"{MISSING.format('No')} {BAD.format('X-Lines')}")),
    ],
)
def test_a_text_is_expanded_in_the_name_of_a_caller(text: str, value: object) -> None:
    assert expander_for_callers(ENVIRON, Path("/"))(HEADERS)(text) == value


def test_what_callers_are_asked_for_is_known_and_shown_without_a_default() -> None:
    text = "a ${request:X-Token} b ${request:Y:-secret} ${NAME}"
    asked = header_references(text)
    assert asked == (HeaderReference("X-Token"), HeaderReference("Y", "secret"))
    assert [str(part) for part in asked] == ["${request:X-Token}", "${request:Y}"]
    assert "".join(part.text if isinstance(part, Literal) else part.source for part in parse_references(text)) == text  # type: ignore[union-attr]
    assert is_only_references("${request:X-Token}")
    assert not is_only_references("${request:Y:-secret}")
    assert header_references("${request:}") == ()


@given(st.text(st.sampled_from("${}request:-X a_"), max_size=30))
def test_what_the_schema_takes_of_callers_is_what_can_be_read(text: str) -> None:
    assert (re.fullmatch(CALLER_REFERENCE_PATTERN, text) is not None) == (
        not isinstance(parse_references(text), MalformedText)
    )
