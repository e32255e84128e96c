"""Multipart bodies as the stand-in and the replay read them: whatever is sent arrives, and is told from what is not."""

import pytest
from benchmarks.docspace_replay.multipart import MultipartError, between, parts
from hypothesis import given
from hypothesis import strategies as st

HEAD = 'Content-Disposition: form-data; name="file"; filename="blob"'
BOUNDARY = "----b0undary"
KIND = f"multipart/form-data; boundary={BOUNDARY}"


def body(*contents: bytes) -> bytes:
    pieces = [
        f"--{BOUNDARY}\r\n{HEAD}\r\nContent-Type: text/plain\r\n\r\n".encode() + each + b"\r\n" for each in contents
    ]
    return b"".join(pieces) + f"--{BOUNDARY}--\r\n".encode()


@given(
    st.lists(
        st.one_of(
            st.binary(), st.sampled_from([b"", b"\r\n", b"--", b"\r\n--", b"\r\n\r\n", b"--" + BOUNDARY.encode()])
        ),
        max_size=3,
    )
)
def test_whatever_a_part_holds_is_read_as_it_was_sent(contents: list[bytes]) -> None:
    contents = [each for each in contents if b"\r\n--" + BOUNDARY.encode() not in b"\r\n" + each]
    read = parts(KIND, body(*contents)) if contents else ()
    assert [part.content for part in read] == contents
    assert {part.name for part in read} <= {"file"}


def test_parts_are_the_same_whatever_divides_them_and_in_whatever_order_their_headers_come() -> None:
    other = body(b"x").replace(BOUNDARY.encode(), b"<BOUNDARY>")
    assert between(b"<BOUNDARY>", other) == parts(KIND, body(b"x"))
    turned = f"--b\r\nContent-Type: text/plain\r\n{HEAD}\r\n\r\nx\r\n--b--\r\n".encode()
    assert parts('multipart/form-data; boundary="b"', turned) == parts(KIND, body(b"x"))


@pytest.mark.parametrize(
    ("kind", "sent", "why"),
    [
        ("application/json", body(b"x"), "not multipart/form-data"),
        ("multipart/form-data", body(b"x"), "names no boundary"),
        (KIND, b"", "does not begin with its boundary"),
        (KIND, b"x" + body(b"x"), "does not begin with its boundary"),
        (KIND, body(b"x")[:-6], "does not end with its boundary"),
        (KIND, f"--{BOUNDARY}\r\nno end\r\n--{BOUNDARY}--\r\n".encode(), "no empty line"),
        (KIND, f"--{BOUNDARY}\r\nno colon\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode(), "has no colon"),
    ],
)
def test_what_is_no_multipart_body_is_told_where(kind: str, sent: bytes, why: str) -> None:
    with pytest.raises(MultipartError, match=why):
        parts(kind, sent)
