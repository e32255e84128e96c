"""Tools as typed Python: what they are called in a program, their stubs, their arguments and answers. Pure, and bounded
whatever a server says of itself."""

from .answers import Unreadable, answered, text_of
from .arguments import argument_names, as_the_tool_names_them
from .lines import line
from .names import Named, Names, module_name
from .programs import module_text, names_of, program_stubs, stubs_for, told_spec
from .writing import HEADER, Stub, stubs_of

__all__ = [
    "HEADER",
    "Named",
    "Names",
    "Stub",
    "Unreadable",
    "answered",
    "argument_names",
    "as_the_tool_names_them",
    "line",
    "module_name",
    "module_text",
    "names_of",
    "program_stubs",
    "stubs_for",
    "stubs_of",
    "text_of",
    "told_spec",
]
