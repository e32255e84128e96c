"""Any text but such as holds one of some words, as rules of GBNF: a grammar has no way to say it in one."""

from collections.abc import Sequence
from typing import Final

from .rules import GrammarRules, grammar_literal

_SPECIAL: Final = {"]": "\\]", "[": "\\[", "^": "\\x5E", "-": "\\x2D"}


def text_without(rules: GrammarRules, words: Sequence[str]) -> str:
    """The name of its rule. One rule for each beginning of a word: which of them the text so far ends with decides what
    may follow."""
    if (known := rules.text_rules.get(tuple(words))) is not None:
        return known
    beginnings = sorted(
        {word[:size] for word in words for size in range(len(word))} | {""}, key=lambda each: (len(each), each)
    )
    stem = rules.free_name(f"text-{len(rules.text_rules)}")
    names = {beginning: f"{stem}-{place}" for place, beginning in enumerate(beginnings)}
    for beginning in beginnings:
        ways: dict[str, list[str]] = {}
        letters = sorted({word[size] for word in words for size in range(len(word))})
        for letter in letters:
            so_far = beginning + letter
            if any(so_far.endswith(word) for word in words):
                continue
            ways.setdefault(_longest_suffix(so_far, names), []).append(letter)
        plain = ways.pop("", [])
        others = [letter for letter in letters if letter not in plain]
        each = [f"{_character_class(others, but=True)} {names['']}"]
        each += [f"{_character_class(found)} {names[state]}" for state, found in sorted(ways.items())]
        rules.rules_by_name[names[beginning]] = " | ".join(('""', *each))
    rules.text_rules[tuple(words)] = names[""]
    return names[""]


def _longest_suffix(text: str, known: dict[str, str]) -> str:
    """The longest end of a text that a word begins with."""
    return next(text[at:] for at in range(len(text) + 1) if text[at:] in known)


def _character_class(letters: Sequence[str], *, but: bool = False) -> str:
    written = "".join(_SPECIAL.get(letter) or grammar_literal(letter)[1:-1] for letter in letters)
    return f"[{'^' if but else ''}{written}]"
