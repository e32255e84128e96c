"""Calls as a grammar in GBNF, for llama.cpp and whatever reads its grammars."""

from collections.abc import Sequence

from pegboard.core.prompting import CODE_MODE
from pegboard.prompts.formats import Format
from pegboard.prompts.shapes import ToolShape

from .frames import find_frame
from .rules import GrammarRules, grammar_literal
from .tagged import tagged_gbnf


def gbnf(format: Format, tools: Sequence[ToolShape], *, several: bool = True) -> str | None:
    """One call or, with `several`, as many as the model likes, and nothing else. `None` where the format writes no
    arguments that a grammar here can hold, or no tool can be called in it.

    A model that may also answer in words is to be held to it from the first marker of the format on: servers call that
    a lazy or triggered grammar.
    """
    framed = find_frame(format, tools)
    if framed is None:
        return tagged_gbnf(format, tools, several=several) if tools and format.name != CODE_MODE else None
    rules = GrammarRules(python=framed.uses_keywords)
    taken = {
        tool.name: rule
        for tool in tools
        if (rule := rules.arguments_rule(tool.name, tool.parameters, keywords=framed.uses_keywords)) is not None
    }
    if not taken:
        return None
    first = rules.add(
        "first-call", " | ".join(f"{grammar_literal(framed.first[name])} {rule}" for name, rule in taken.items())
    )
    further = rules.add(
        "next-call", " | ".join(f"{grammar_literal(framed.further[name])} {rule}" for name, rule in taken.items())
    )
    root = f"{first} {further}*" if several else first
    return rules.grammar_text(f"{root} {grammar_literal(framed.last)}" if framed.last else root)
