"""What is wrong with a call in tags, in words for the model; and what was, for whoever reads of repairs."""

from typing import Final

EMPTY: Final = "The call is empty. Name the tool and give its arguments."
JUNK: Final = "There is text between the arguments of the call. Write nothing there but arguments."
TWICE: Final = "The argument {key!r} is given twice in one call. Give each argument once."
BAD_TAG: Final = "The tag {tag!r} is not written as the format has it."
NAMELESS: Final = "The call names no tool. Write the name of the tool where the format has it."
NO_CALL: Final = "The call was not made: {why}. Write it with tags, as the format has it."
UNCLOSED: Final = "the closing tag of an argument was missing"
UNOPENED: Final = "the opening tag of a value was missing"
DOUBLED: Final = "a tag that stood there twice was read once"
NO_VALUE: Final = "argument {key!r} had no value and was left out"
WRAPPED: Final = "the arguments were wrapped in an argument of their own"
AROUND: Final = "tags around the arguments were left out"
NO_END: Final = "the closing tag of the call was missing"
