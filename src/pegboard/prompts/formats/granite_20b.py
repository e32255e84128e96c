"""Granite 20B for function calling: an object behind <function_call>, once for each call."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

CLOSERS: Final = ("</function_call>", "<|end_of_text|>")

FORMATS: Final = {
    "granite_20b": JsonFormat(
        name="granite_20b",
        syntax=JsonSyntax(openers=("<function_call>",), closers=CLOSERS, allows_lists=False),
        around_each=("<function_call> ", ""),
        result_role="function_response",
    ),
    "granite_function_call": JsonFormat(
        name="granite_function_call",
        syntax=JsonSyntax(openers=("<function_call>", "<|tool_call|>"), closers=CLOSERS),
        around_each=("<function_call>", "</function_call>"),
        result_role="user",
        result_around=("<function_response>", "</function_response>"),
    ),
}
