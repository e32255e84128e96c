"""Granite 20B for function calling: an object behind <function_call>, once for each call."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

CLOSERS: Final = ("</function_call>", "<|end_of_text|>")

FORMATS: Final = {
    "granite_20b": Marked(
        name="granite_20b",
        signs=JsonSigns(openers=("<function_call>",), closers=CLOSERS, lists=False),
        around_each=("<function_call> ", ""),
        result_role="function_response",
    ),
    "granite_function_call": Marked(
        name="granite_function_call",
        signs=JsonSigns(openers=("<function_call>", "<|tool_call|>"), closers=CLOSERS),
        around_each=("<function_call>", "</function_call>"),
        result_role="user",
        result_around=("<function_response>", "</function_response>"),
    ),
}
