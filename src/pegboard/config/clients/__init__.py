"""The server lists of other clients: where they are, and what they say in our words."""

from .find import find, read_list
from .found import Client, Found
from .fragment import Secret, as_yaml, entry_of, without_secrets
from .merge import Merged, merged
from .pasted import read_pasted

__all__ = [
    "Client",
    "Found",
    "Merged",
    "Secret",
    "as_yaml",
    "entry_of",
    "find",
    "merged",
    "read_list",
    "read_pasted",
    "without_secrets",
]
