"""What a model would be sent, block by block, and what is read in its answer."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.web.looks import look_over
from tests.web.site import Site

pytestmark = pytest.mark.slow

ANSWER = """Let me look 🦉.
<tool_call>
{"name": "search_books", "arguments": {"query": "whale"}}
</tool_call>
<tool_call>
{"name": "delete_note", "arguments": {"name": "a"}}
</tool_call>
<tool_call>
{"name": 7}
</tool_call>"""


def at_prompt(page: Page, served: Site, query: str = "") -> Page:
    page.goto(f"{served.address}/ui/prompt{query}")
    expect(page.get_by_role("heading", level=1, name="Prompt")).to_be_visible()
    return page


def read(page: Page, text: str) -> None:
    page.get_by_label("Answer", exact=True).fill(text)
    page.get_by_role("button", name="Read it").click()


@pytest.mark.behaviour("web.prompt")
def test_the_prompt_of_a_model_is_shown_to_the_letter_and_each_block_says_why(page: Page, served: Site) -> None:
    at_prompt(page, served)
    page.get_by_role("button", name="Look at qwen3:8b").click()
    expect(page).to_have_url(re.compile(r"[?&]model=qwen3%3A8b"))
    page.get_by_label("What the user says").fill("find books")
    told = served.ask("GET", "/prompt?model=qwen3:8b&query=find%20books")
    for part in told["parts"]:
        text = page.get_by_label(f"Text of {part['kind']}", exact=True)
        expect(text).to_have_text(part["text"])
    tools = next(part for part in told["parts"] if part["kind"] == "tools")
    page.get_by_role("button", name=re.compile("^tools")).click()
    expect(page.get_by_text(f"It is here because {tools['reason']}.")).to_be_visible()
    struck = page.get_by_role("region", name="Not in the prompt").get_by_role("listitem")
    expect(struck.filter(has_text=told["excluded"][0]["subject"]).first).to_contain_text(told["excluded"][0]["reason"])
    expect(page.get_by_role("region", name="As Python")).to_contain_text("board.prompt('find books', 'qwen3:8b')")
    budget = page.get_by_role("img", name=re.compile("^Budget by toolset: .*library"))
    expect(budget).to_be_visible()


@pytest.mark.behaviour("web.prompt")
def test_another_format_and_budget_make_another_prompt(page: Page, served: Site) -> None:
    at_prompt(page, served, "?model=qwen3:8b")
    page.get_by_label("Format").select_option("hermes")
    page.get_by_role("textbox", name="Budget").fill("100")
    expect(page.get_by_text("Tokens, 200 or more.")).to_be_visible()
    page.get_by_role("textbox", name="Budget").fill("300")
    expect(page.get_by_role("region", name="Budget")).to_contain_text("of 300 tokens")
    expect(page.get_by_role("region", name="Model", exact=True)).to_contain_text("hermes")
    expect(page).to_have_url(re.compile(r"format=hermes.*budget=300"))


@pytest.mark.behaviour("web.prompt_answer")
def test_an_answer_is_read_and_each_call_held_up_to_the_gate(page: Page, served: Site) -> None:
    calls_before = served.ask("GET", "/activity?kind=call")["activity"]
    at_prompt(page, served, "?model=qwen3:8b&format=hermes&q=find+books")
    read(page, ANSWER)
    answer = page.get_by_role("region", name="A model's answer")
    expect(answer.get_by_text("Read as hermes.")).to_be_visible()
    calls = answer.locator(".prompt-calls > li")
    expect(calls).to_have_count(2)
    expect(calls.nth(0)).to_contain_text("runs")
    expect(calls.nth(0)).to_contain_text('"whale"')
    expect(calls.nth(1)).to_contain_text("is denied by the operator")
    expect(answer.get_by_text(re.compile("^Broken at character "))).to_be_visible()
    expect(answer.get_by_label("The answer in pieces")).to_have_text(ANSWER)
    assert served.ask("GET", "/activity?kind=call")["activity"] == calls_before


def test_a_caller_or_model_that_is_too_much_is_told_in_the_gateways_words(page: Page, served: Site) -> None:
    at_prompt(page, served, "?model=qwen3:8b&budget=9999999")
    expect(page.get_by_role("alert")).to_contain_text("budget")


@pytest.mark.behaviour("web.accessible")
def test_the_prompt_is_readable_to_everybody(page: Page, served: Site) -> None:
    at_prompt(page, served)
    expect(page.get_by_role("heading", name="Choose a model")).to_be_visible()
    look_over(page, "prompt-empty")
    at_prompt(page, served, "?model=qwen3:8b&format=hermes&q=find+books")
    expect(page.get_by_role("region", name="Budget")).to_be_visible()
    read(page, ANSWER)
    expect(page.get_by_label("The answer in pieces")).to_be_visible()
    look_over(page, "prompt", whole=True)
