"""What a docstring says of a function and of its parameters: in the manner of Google, NumPy or Sphinx."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import docstring_parser


@dataclass(frozen=True, slots=True)
class Words:
    description: str
    parameters: Mapping[str, str]


def words(function: Callable[..., object]) -> Words:
    return words_in(inspect.getdoc(function) or "")


def words_in(text: str) -> Words:
    """Of a docstring without the indentation that it has in its file."""
    try:
        told = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Words(text.strip(), {})
    said = [part.strip() for part in (told.short_description, told.long_description) if part]
    described = {
        parameter.arg_name.lstrip("*"): " ".join(parameter.description.split())
        for parameter in told.params
        if parameter.description
    }
    return Words("\n\n".join(said), described)
