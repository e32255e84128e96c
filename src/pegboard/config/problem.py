"""What is wrong with a file, where, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` is 0 when the file as a whole is meant, and `key` is empty when no key is."""

    file: str
    line: int
    key: str
    what: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}: {self.what}" if self.key else f"{where}: {self.what}"
