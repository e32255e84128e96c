"""Tools as typed Python: what they are called in a program, their stubs, their arguments and answers. Pure, and bounded
whatever a server says of itself."""

from .answers import UnreadableAnswer, program_answer, result_text
from .arguments import argument_names, to_tool_names
from .lines import function_line
from .names import ProgramFunction, ProgramNames, module_name
from .programs import module_text, program_names, program_stubs, stubs_for, visible_spec
from .writing import HEADER, Stub, module_stubs

__all__ = [
    "HEADER",
    "ProgramFunction",
    "ProgramNames",
    "Stub",
    "UnreadableAnswer",
    "argument_names",
    "function_line",
    "module_name",
    "module_stubs",
    "module_text",
    "program_answer",
    "program_names",
    "program_stubs",
    "result_text",
    "stubs_for",
    "to_tool_names",
    "visible_spec",
]
