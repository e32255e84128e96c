"""Lists of names, written as text so that they can be read."""

import re
from importlib.resources import files


def names(text: str) -> frozenset[str]:
    """Lines that begin with `#` are comments."""
    return frozenset(re.sub(r"^#.*", "", text, flags=re.MULTILINE).split())


def read_names(package: str, file: str) -> frozenset[str]:
    return names(files(package).joinpath(file).read_text(encoding="ascii"))
