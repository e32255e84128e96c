"""Databases as the core knows them: what a source is called, what of it may be read, and how much of an answer is."""

from .access import EVERYTHING, Access, BadPattern, NamePattern, name_pattern
from .answer import Answer, Checked, Cut, Failed, Fault, Field, Finding, FindingSeverity, Refused, Rows
from .row_collector import RowCollector
from .schema import Column, Relation, Schema, Table, TableName, narrow_schema
from .source import Database, Dialect, Limits, SourceId

__all__ = [
    "EVERYTHING",
    "Access",
    "Answer",
    "BadPattern",
    "Checked",
    "Column",
    "Cut",
    "Database",
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
    "RowCollector",
    "Rows",
    "Schema",
    "SourceId",
    "Table",
    "TableName",
    "name_pattern",
    "narrow_schema",
]
