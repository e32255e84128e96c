"""Databases as the core knows them: what a source is called, what of it may be read, and how much of an answer is."""

from .access import FULL_ACCESS, BadPattern, DatabaseAccess, NamePattern, parse_name_pattern
from .answer import (
    DatabaseCheck,
    DatabaseFinding,
    FindingSeverity,
    QueryAnswer,
    QueryRows,
    ResultColumn,
    ResultTruncation,
    StatementFailure,
    StatementFault,
    StatementRefusal,
)
from .row_collector import RowCollector
from .schema import DatabaseSchema, DatabaseTable, ForeignKey, TableColumn, TableName, narrow_schema
from .source import DatabaseId, DatabaseSettings, Dialect, QueryLimits

__all__ = [
    "FULL_ACCESS",
    "BadPattern",
    "DatabaseAccess",
    "DatabaseCheck",
    "DatabaseFinding",
    "DatabaseId",
    "DatabaseSchema",
    "DatabaseSettings",
    "DatabaseTable",
    "Dialect",
    "FindingSeverity",
    "ForeignKey",
    "NamePattern",
    "QueryAnswer",
    "QueryLimits",
    "QueryRows",
    "ResultColumn",
    "ResultTruncation",
    "RowCollector",
    "StatementFailure",
    "StatementFault",
    "StatementRefusal",
    "TableColumn",
    "TableName",
    "narrow_schema",
    "parse_name_pattern",
]
