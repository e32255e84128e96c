"""The server lists of other clients: where they are, and what they say in our words."""

from .find import find, read_list
from .found import Client, Found
from .fragment import Secret, as_yaml, without_secrets
from .merge import Merged, merged

__all__ = ["Client", "Found", "Merged", "Secret", "as_yaml", "find", "merged", "read_list", "without_secrets"]
