"""Texts that Monty hands out in the place of values that have no form outside of a worker.

A call that nobody awaited would be written into somebody's tool as `<coroutine object f>`, and nobody would know. The
forms here are those that no program means: a text of such a form is taken for what it stands for.
"""

import re
from collections.abc import Mapping
from typing import Final

_FORMS: Final[Mapping[str, str]] = {
    "coroutine": r"<coroutine (?:external_future\(\d+\)|object \w+)>|<gather\(\d+\)>",
    "function": r"<function (?:'[^'\n]*'|\w+) at 0x[0-9a-f]{1,8}>|<bound method>|functools\.partial\(<function .*\)",
    "iterator": r"<\w*iterator object>|<itertools\.\w+ object>",
    "module": r"<module '[\w.]+'>",
    "Match": r"<re\.Match object; span=\(\d+, \d+\), match=.*>",
    "Pattern": r"re\.compile\((?:'[^\n]*'|\"[^\n]*\")(?:, [\w.|]+)?\)",
    "range": r"range\(-?\d+, -?\d+(?:, -?\d+)?\)",
    "slice": r"slice\([^()]*, [^()]*, [^()]*\)",
    "dict_keys": r"dict_keys\(\[.*\]\)",
    "dict_values": r"dict_values\(\[.*\]\)",
    "dict_items": r"dict_items\(\[.*\]\)",
    "object": r"<[\w.]+(?: [\w.]+)? object (?:at|@) 0x[0-9a-f]{1,8}>",
}
_FORM: Final = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()), re.DOTALL)
_FIRST: Final = "<frsd"
_LAST: Final = ">)"


def stands_for(text: str) -> str | None:
    """The type of what the text stands for; nothing where it is a text."""
    if text[:1] not in _FIRST or text[-1:] not in _LAST or not text:
        return None
    found = _FORM.fullmatch(text)
    return None if found is None else found.lastgroup
