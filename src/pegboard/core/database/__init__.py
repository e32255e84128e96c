"""Databases as the core knows them: what a source is called, what of it may be read, and how much of an answer is."""

from .access import EVERYTHING, Access, BadPattern, NamePattern, name_pattern
from .answer import Answer, Checked, Failed, Fault, Field, Finding, FindingSeverity, Refused, Rows
from .catch import Catch, Cut, Row
from .cell import cell
from .limits import Limits
from .schema import Column, Relation, Schema, Table, TableName, narrowed
from .source import Dialect, SourceId, source_id

__all__ = [
    "EVERYTHING",
    "Access",
    "Answer",
    "BadPattern",
    "Catch",
    "Checked",
    "Column",
    "Cut",
    "Dialect",
    "Failed",
    "Fault",
    "Field",
    "Finding",
    "FindingSeverity",
    "Limits",
    "NamePattern",
    "Refused",
    "Relation",
    "Row",
    "Rows",
    "Schema",
    "SourceId",
    "Table",
    "TableName",
    "cell",
    "name_pattern",
    "narrowed",
    "source_id",
]
