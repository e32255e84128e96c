"""The server lists of other clients: where they are, and what they say in our words."""

from .find import find_client_lists, read_list
from .found import ClientApp, ClientServerList
from .fragment import ExtractedSecret, extract_secrets, format_yaml, yaml_entry
from .merge import MergedServers, merge_lists
from .pasted import read_pasted

__all__ = [
    "ClientApp",
    "ClientServerList",
    "ExtractedSecret",
    "MergedServers",
    "extract_secrets",
    "find_client_lists",
    "format_yaml",
    "merge_lists",
    "read_list",
    "read_pasted",
    "yaml_entry",
]
