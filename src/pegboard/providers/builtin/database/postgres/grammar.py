"""Which parts of PostgreSQL's grammar a statement may be made of. What is not named here is refused."""

from typing import Final

from pegboard.providers.builtin.database.names import names

EXPRESSIONS: Final = names(
    """
    A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star Alias BitString BoolExpr Boolean BooleanTest
    CTECycleClause CTESearchClause CaseExpr CaseWhen CoalesceExpr CollateClause ColumnDef ColumnRef CommonTableExpr
    Float FuncCall GroupingFunc GroupingSet Integer JoinExpr JsonAggConstructor JsonArgument JsonArrayAgg
    JsonArrayConstructor JsonArrayQueryConstructor JsonBehavior JsonFormat JsonFuncExpr JsonIsPredicate JsonKeyValue
    JsonObjectAgg JsonObjectConstructor JsonOutput JsonParseExpr JsonReturning JsonScalarExpr JsonSerializeExpr
    JsonTable JsonTableColumn JsonTablePathSpec JsonValueExpr MinMaxExpr NamedArgExpr NullTest ParamRef
    RangeFunction RangeSubselect RangeTableFunc RangeTableFuncCol RangeTableSample RangeVar ResTarget RowExpr
    SQLValueFunction SelectStmt SortBy String SubLink TypeCast TypeName WindowDef WithClause XmlExpr XmlSerialize
    """
)

WRITING: Final = names(
    """
    DeleteStmt IndexElem InferClause InsertStmt MultiAssignRef OnConflictClause ReturningClause SetToDefault UpdateStmt
    """
)
"""What a statement on a source that is open to writes may hold beside."""

SHOWN: Final = names(
    """
    bytea_output client_encoding datestyle default_text_search_config extra_float_digits integer_datetimes
    intervalstyle is_superuser lc_collate lc_ctype lc_messages lc_monetary lc_numeric lc_time lock_timeout
    max_identifier_length search_path server_encoding server_version server_version_num standard_conforming_strings
    statement_timeout timezone transaction_isolation transaction_read_only work_mem
    """
)
"""Settings that tell how to write a query. Others may hold paths, addresses and an application's own secrets."""

EXPLAINED: Final = frozenset({"costs", "format", "summary", "verbose"})
"""Options of EXPLAIN that only change what is printed."""

NAMES: Final = {
    "AlterSystemStmt": "ALTER SYSTEM",
    "CallStmt": "CALL",
    "CheckPointStmt": "CHECKPOINT",
    "CopyStmt": "COPY",
    "CreateFunctionStmt": "CREATE FUNCTION",
    "CreateStmt": "CREATE TABLE",
    "CreateTableAsStmt": "CREATE TABLE AS",
    "DeclareCursorStmt": "DECLARE",
    "DeleteStmt": "DELETE",
    "DiscardStmt": "DISCARD",
    "DoStmt": "DO",
    "DropStmt": "DROP",
    "ExecuteStmt": "EXECUTE",
    "FetchStmt": "FETCH",
    "GrantStmt": "GRANT",
    "InsertStmt": "INSERT",
    "IntoClause": "SELECT INTO",
    "ListenStmt": "LISTEN",
    "LoadStmt": "LOAD",
    "LockStmt": "LOCK",
    "LockingClause": "a row lock (FOR UPDATE, FOR SHARE)",
    "MergeStmt": "MERGE",
    "NotifyStmt": "NOTIFY",
    "PrepareStmt": "PREPARE",
    "RefreshMatViewStmt": "REFRESH MATERIALIZED VIEW",
    "ReindexStmt": "REINDEX",
    "TransactionStmt": "a command of transactions",
    "TruncateStmt": "TRUNCATE",
    "UnlistenStmt": "UNLISTEN",
    "UpdateStmt": "UPDATE",
    "VacuumStmt": "VACUUM or ANALYZE",
    "VariableSetStmt": "SET",
}
"""How people write what the grammar calls otherwise."""
