"""What a docstring says of a function and of its parameters: in the manner of Google, NumPy or Sphinx."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import docstring_parser


@dataclass(frozen=True, slots=True)
class DocstringTexts:
    description: str
    parameters: Mapping[str, str]


def docstring_texts(function: Callable[..., object]) -> DocstringTexts:
    return parse_docstring(inspect.getdoc(function) or "")


def parse_docstring(text: str) -> DocstringTexts:
    """Of a docstring without the indentation that it has in its file."""
    try:
        told = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return DocstringTexts(text.strip(), {})
    said = [part.strip() for part in (told.short_description, told.long_description) if part]
    described = {
        parameter.arg_name.lstrip("*"): " ".join(parameter.description.split())
        for parameter in told.params
        if parameter.description
    }
    return DocstringTexts("\n\n".join(said), described)
