"""What is wrong with a call in tags, in words for the model; and what was, for whoever reads of repairs."""

from typing import Final

EMPTY_CALL: Final = "The call is empty. Name the tool and give its arguments."
TEXT_BETWEEN_ARGUMENTS: Final = "There is text between the arguments of the call. Write nothing there but arguments."
ARGUMENT_REPEATED: Final = "The argument {key!r} is given twice in one call. Give each argument once."
BAD_TAG: Final = "The tag {tag!r} is not written as the format has it."
TOOL_NAME_MISSING: Final = "The call names no tool. Write the name of the tool where the format has it."
CALL_REJECTED: Final = "The call was not made: {why}. Write it with tags, as the format has it."
CLOSING_TAG_MISSING: Final = "the closing tag of an argument was missing"
OPENING_TAG_MISSING: Final = "the opening tag of a value was missing"
TAG_REPEATED: Final = "a tag that stood there twice was read once"
VALUE_MISSING: Final = "argument {key!r} had no value and was left out"
ARGUMENTS_WRAPPED: Final = "the arguments were wrapped in an argument of their own"
TAGS_LEFT_OUT: Final = "tags around the arguments were left out"
CALL_TAG_MISSING: Final = "the closing tag of the call was missing"
