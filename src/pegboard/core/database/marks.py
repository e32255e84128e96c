"""How values are written that JSON has no word for, told column by column so that nobody takes one for another."""

from enum import StrEnum


class Mark(StrEnum):
    NUMBER = "number_as_text"
    """Numbers that JSON's own would not keep exactly: beyond 2**53, of more than 15 digits, not finite."""
    BINARY = "binary_as_hex"
