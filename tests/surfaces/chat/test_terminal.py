"""`pegboard chat`: one answer for a script, and a conversation with a person at a real terminal."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.servers.model import Body
from tests.surfaces.chat.place import PATIENCE, Place, Turn
from tests.surfaces.cli.at_terminal import CTRL_C, END_OF_INPUT, Typing, at_terminal
from tests.surfaces.cli.terminal import clean_environment, program, warm_program

pytestmark = pytest.mark.slow


@contextmanager
def talking(place: Place, model: str) -> Iterator[Typing]:
    data = place.gateway.data_dir
    with at_terminal(place.folder, "chat", "--model", model, "--data-dir", data) as terminal:
        terminal.until("Ctrl-D ends the conversation.")
        yield terminal


@pytest.mark.behaviour("chat.terminal")
def test_one_message_has_one_answer_on_standard_output_and_the_tools_on_standard_error(place: Place) -> None:
    model = place.model(Turn("Let me add.", calls=[("add", {"a": 2, "b": 3})]), Turn("The \x1b[31msum\r\n is 5."))
    done = program(place.folder, "chat", "add 2 and 3", "--model", model, "--data-dir", place.gateway.data_dir)
    assert (done.code, done.out) == (0, "Let me add.\n\nThe \\x1b[31msum\n is 5.\n")
    assert '  → add {"a": 2, "b": 3}\n' in done.err
    assert "  ← add returned in " in done.err


@pytest.mark.behaviour("chat.terminal")
def test_a_message_on_standard_input_is_answered_as_json(place: Place) -> None:
    model = place.model(Turn("Gern."))
    words = ["chat", "--model", model, "--system", "Be brief.", "--data-dir", str(place.gateway.data_dir), "--json"]
    done = subprocess.run(
        [*warm_program(), *words],
        env=clean_environment(place.folder),
        input="Größe?".encode(),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "Gern."
    (asked,) = place.asked_of(model)
    assert asked["messages"][0]["content"].endswith("Be brief.")
    assert asked["messages"][-1] == {"role": "user", "content": "Größe?"}


@pytest.mark.behaviour("chat.terminal")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("hello", "--model", "nobody"), 4, "not found, try pulling it first"),
        ((" ",), 2, "the message is blank"),
    ],
    ids=["no model", "blank"],
)
def test_what_goes_wrong_ends_with_a_sentence_and_a_code(
    place: Place, words: tuple[str, ...], code: int, told: str
) -> None:
    done = program(place.folder, "chat", *words, "--data-dir", place.gateway.data_dir)
    assert (done.code, told in done.err) == (code, True), done.err


@pytest.mark.behaviour("chat.terminal")
def test_without_a_gateway_it_says_how_to_start_one(tmp_path: Path) -> None:
    done = program(tmp_path, "chat", "hello", "--data-dir", tmp_path / "data")
    assert (done.code, "Start one in another terminal: pegboard serve" in done.err) == (6, True)


@pytest.mark.behaviour("chat.terminal")
def test_a_conversation_goes_on_until_the_end_of_input(place: Place) -> None:
    def remembering(body: Body) -> Turn:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        return Turn(f"You said {len(said)}: {' and '.join(said)}.")

    with talking(place, place.character(remembering)) as terminal:
        terminal.type("one\n")
        terminal.until("You said 1: one.")
        terminal.type("two\n")
        terminal.until("You said 2: one and two.")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0


@pytest.mark.behaviour("chat.terminal")
def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on(place: Place) -> None:
    turns = iter([Turn("never ending words", hold=threading.Event()), Turn("Here again.")])
    place.models.left.clear()
    with talking(place, place.character(lambda body: next(turns))) as terminal:
        terminal.type("go\n")
        terminal.until("never e")
        terminal.type(CTRL_C)
        terminal.until("stopped")
        assert place.models.left.wait(PATIENCE)
        terminal.type("and now?\n")
        terminal.until("Here again.")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0


@pytest.mark.behaviour("chat.terminal")
def test_ctrl_c_at_the_prompt_and_what_is_no_text_end_no_conversation(place: Place) -> None:
    with talking(place, place.character(lambda body: Turn(f"You said {body['messages'][-1]['content']}."))) as terminal:
        terminal.until("> ")
        terminal.type("forgotten" + CTRL_C)
        terminal.until("^C\n> ")
        terminal.type("caf\udcff\n")
        terminal.until("The message is not UTF-8 text.")
        terminal.type("remembered\n")
        terminal.until("You said remembered.")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0


@pytest.mark.behaviour("chat.terminal", "chat.tickets")
@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("n\n", False)], ids=["yes", "no"])
def test_the_person_at_the_terminal_confirms_a_call_there(place: Place, answer: str, runs: bool) -> None:
    mark = f"at-the-terminal-{runs}"
    model = place.model(Turn(calls=[("mark", {"text": mark})]), Turn("So be it."))
    with talking(place, model) as terminal:
        terminal.type("mark it\n")
        terminal.until("Run it? [y/N]: ")
        assert mark in terminal.seen.partition("arguments, to the letter:")[2]
        assert mark not in place.ran
        terminal.type(answer)
        terminal.until("So be it.")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0
    assert (mark in place.ran) == runs


@pytest.mark.behaviour("chat.terminal")
def test_trouble_with_one_answer_is_told_and_the_conversation_goes_on(place: Place) -> None:
    with talking(place, place.model(Turn("half", cut=1), Turn("Whole."))) as terminal:
        terminal.type("one\n")
        terminal.until("broke off")
        terminal.type("two\n")
        terminal.until("Whole.")
        terminal.type(END_OF_INPUT)
        assert terminal.code() == 0
