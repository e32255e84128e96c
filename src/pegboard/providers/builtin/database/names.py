"""Lists of names, written as text so that they can be read."""


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())
