"""What a server wrote to its error stream, as it is kept."""

import pytest

from pegboard.processes.output import MAX_LINE_WIDTH, MAX_LINES, LogTail


def same(text: str) -> str:
    return text


def kept(*chunks: bytes) -> tuple[str, ...]:
    lines = LogTail()
    for chunk in chunks:
        lines.feed(chunk, same)
    return lines.tail()


def test_lines_come_out_whole_however_they_were_cut() -> None:
    assert kept(b"fir", b"st\nsec", b"ond\n", b"third\n") == ("first", "second", "third")


def test_a_line_without_an_end_counts_once_the_stream_is_over() -> None:
    lines = LogTail()
    lines.feed(b"almost", same)
    assert lines.tail() == ()
    lines.finish(same)
    lines.finish(same)
    assert lines.tail() == ("almost",)


def test_only_the_last_lines_stay() -> None:
    lines = LogTail()
    lines.feed(b"".join(b"%d\n" % number for number in range(1_000)), same)
    assert lines.tail() == tuple(str(number) for number in range(1_000 - MAX_LINES, 1_000))
    assert lines.line_count == 1_000


def test_a_long_line_is_cut_and_the_rest_of_it_is_no_line() -> None:
    assert kept(b"x" * 100_000, b"y" * 100_000 + b"\nnext\n") == ("x" * MAX_LINE_WIDTH, "next")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"\x1b[31mred\x1b[0m and \x1b]0;title\x07plain\n", "red and plain"),
        (b"10 %\r50 %\rdone\r\n", "done"),
        (b"bell\x07 and \x00 nothing\n", "bell\N{REPLACEMENT CHARACTER} and \N{REPLACEMENT CHARACTER} nothing"),
        ("turned \u202earound\n".encode(), "turned \N{REPLACEMENT CHARACTER}around"),
        (b"\xff\xfe not text\n", "\N{REPLACEMENT CHARACTER}" * 2 + " not text"),
        ("Grüße\tin Spalten\n".encode(), "Grüße\tin Spalten"),
    ],
)
def test_a_line_is_fit_for_a_terminal(written: bytes, read: str) -> None:
    assert kept(written) == (read,)


def test_the_last_lines_since_a_mark_are_those_of_one_attempt_only() -> None:
    lines = LogTail()
    lines.feed(b"old\nolder\n", same)
    mark = lines.line_count
    assert lines.lines_since(mark, 10) == ()
    lines.feed(b"".join(b"new %d\n" % number for number in range(12)), same)
    assert lines.lines_since(mark, 10) == tuple(f"new {number}" for number in range(2, 12))
    assert lines.lines_since(mark, 100) == tuple(f"new {number}" for number in range(12))


def test_a_secret_is_taken_out_before_a_line_is_cut() -> None:
    lines = LogTail()
    lines.feed(b"x" * (MAX_LINE_WIDTH - 3) + b"hunter2\n", lambda text: text.replace("hunter2", "•••"))
    assert lines.tail() == ("x" * (MAX_LINE_WIDTH - 3) + "•••",)
