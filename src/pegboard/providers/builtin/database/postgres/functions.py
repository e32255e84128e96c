"""Which functions, operators and types a statement may use. What writes, waits, reads files, asks another server or
runs text as SQL is refused, and so is whatever nobody here can look into.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pegboard.core.database import Access, Fault
from pegboard.providers.builtin.database.names import names

from .found import Found, Function, Type
from .grammar import SHOWN
from .reading import Called, Reading, Unreadable

VOLATILE: Final = names(
    """
    clock_timestamp gen_random_bytes gen_random_uuid gen_salt random random_normal timeofday uuid_generate_v1
    uuid_generate_v1mc uuid_generate_v4 uuidv4 uuidv7
    """
)
"""Different at each call, and that is all they are."""

EXTENSIONS: Final = names(
    """
    btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_trgm pgcrypto postgis
    postgis_raster postgis_topology seg tsm_system_rows tsm_system_time unaccent uuid-ossp vector
    """
)
"""Extensions whose functions compute and do nothing else. Of these too only the ones that are not volatile."""

_PURE: Final = names(
    """
    pg_char_to_encoding pg_client_encoding pg_collation_for pg_column_compression pg_column_size pg_encoding_to_char
    pg_is_in_recovery pg_size_bytes pg_size_pretty pg_typeof
    """
)
_OPEN: Final = names(
    """
    col_description format_type has_any_column_privilege has_column_privilege has_database_privilege
    has_schema_privilege has_table_privilege obj_description pg_database_size pg_get_constraintdef pg_get_expr
    pg_get_indexdef pg_get_keywords pg_get_partkeydef pg_get_serial_sequence pg_get_userbyid pg_get_viewdef
    pg_indexes_size pg_relation_size pg_table_is_visible pg_table_size pg_total_relation_size pg_type_is_visible
    to_regclass to_regtype
    """
)
"""They tell of whatever is in the catalogue: answered only where nothing there is withheld."""
_TELLING: Final = re.compile(
    r"pg_.*|has_.*_privilege|to_reg.*|reg(class|proc|oper|type|namespace|role|collation|config|dict).*|.*_to_xml.*|.*_description|current_setting|row_security_active"
    r"|binary_upgrade_.*|ts_stat|ts_rewrite|lo_.*|lo(read|write)|txid_.*|inet_server_.*|aclexplode"
    r"|oidvectortypes|satisfies_hash_partition"
)
_REG: Final = names("regproc regprocedure regoper regoperator regclass regnamespace regrole regtype aclitem")
_WITHOUT: Final = "Write the query without it."
_FINE_KINDS: Final = frozenset("berm")
"""Base types, enumerations, ranges and their multiples: none calls what people wrote."""


@dataclass(frozen=True)
class Missing:
    """What is not there, or must look as if it were not."""

    words: str
    fault: Fault
    name: str
    position: int | None


def faulty(
    reading: Reading, found: Found, access: Access, shut: frozenset[int] = frozenset(), *, within: str | None = None
) -> Unreadable | Missing | None:
    """What the statement, or the view `within` it, uses that it may not; `shut` are types that look as if they were
    not there."""
    withheld = not access.is_whole
    for called in reading.called:
        if fault := _call(called, found, access, shut):
            return _inside(within, fault)
    for schema, name in sorted(reading.operators, key=str):
        used = [one.function for one in found.operators if one.name == name and found.reached(one.schema, schema)]
        if withheld and not used and schema not in (None, "pg_catalog"):
            # The server has other words where even the schema is not there.
            words = f"operator {schema}.{name} does not exist"
            return _inside(within, Missing(words, Fault.NO_FUNCTION, f"{schema}.{name}", None))
        if not all(_computes(function, withheld) for function in used):
            why = f"The operator {name} calls a function that is not on the list of those that only compute."
            return _inside(within, Unreadable(why, _WITHOUT))
    # `t.f` is f(t) where a function f takes such a row.
    for function in found.fields:
        if function.name in reading.fields and function.schema in found.path and not _computes(function, withheld):
            why = f"{function.name!r} behind a dot calls a function that was defined in this database."
            return _inside(within, Unreadable(why, _WITHOUT))
    for named in reading.types:
        types = found.types_named(named.schema, named.name)
        if not _known(types, access, shut):
            words = f'type "{named.written}" does not exist'
            return _inside(within, Missing(words, Fault.OTHER, named.written, named.position))
        if fault := _types(types, named.name, withheld):
            return _inside(within, fault)
    if withheld and within is None and (placed := [one for one in reading.placed if one.schema != "pg_catalog"]):
        return Unreadable(
            f"{placed[0].written!r} is named with its schema, which is not looked into here.",
            "Name it without a schema, or leave it out.",
        )
    return None


def _inside(view: str | None, fault: Unreadable | Missing) -> Unreadable | Missing:
    if view is None:
        return fault
    if isinstance(fault, Missing):
        # Everything that a view names is there: what is not is closed, and the view with it.
        return Missing(fault.words, Fault.NO_TABLE, view, None)
    return Unreadable(f"The view {view!r} cannot be looked through: {fault.why}", "Query the tables themselves.")


def _call(called: Called, found: Found, access: Access, shut: frozenset[int]) -> Unreadable | Missing | None:
    candidates = found.functions_named(called.schema, called.name)
    if called.name == "current_setting":
        if called.constant is not None and called.constant.lower() in SHOWN:
            return None
        return Unreadable(
            "current_setting() is answered for a few settings alone.", f"These: {', '.join(sorted(SHOWN))}."
        )
    if not candidates:
        # A type's name before brackets is a cast.
        types = found.types_named(called.schema, called.name)
        if not _known(types, access, shut):
            words = f"function {called.written}() does not exist"
            return Missing(words, Fault.NO_FUNCTION, called.written, called.position)
        return _types(types, called.name, not access.is_whole)
    # With arguments that none of them takes, the engine says so itself.
    for function in (one for one in candidates if one.takes(called.count)):
        if not _computes(function, not access.is_whole):
            return Unreadable(_why(function, called), _WITHOUT)
    return None


def _known(types: Iterable[Type], access: Access, shut: frozenset[int]) -> bool:
    """Whether one of them may be known of: the rows of a closed table are of no type that exists, and no type holds
    them."""
    types = tuple(types)
    if any(one.oid in shut for one in types):
        return False
    return any(one.row_of is None or access.opens(*one.row_of) for one in types)


def _computes(function: Function, withheld: bool) -> bool:
    if function.added or function.schema != "pg_catalog":
        if function.extension not in EXTENSIONS:
            return False
        return function.volatility != "v" or function.name in VOLATILE
    if function.inward:
        return False
    if function.name in _PURE or function.name in VOLATILE:
        return True
    if function.name in _OPEN:
        return not withheld
    if function.volatility == "v" or _TELLING.fullmatch(function.name):
        return False
    return not (withheld and function.catalogued)


def _why(function: Function, called: Called) -> str:
    name = f"{called.written}()"
    if function.added or function.schema != "pg_catalog":
        if function.extension is None:
            return f"{name} was defined in this database, and what it does is not looked into here."
        return f"{name} belongs to the extension {function.extension!r}, which does more than compute."
    if function.volatility == "v":
        return f"{name} does more than compute: PostgreSQL calls it volatile."
    return f"{name} tells of the server rather than of what is in the tables."


def _types(types: Iterable[Type], name: str, withheld: bool) -> Unreadable | None:
    for one in types:
        if one.schema == "pg_catalog" and one.row_of is None:
            if withheld and one.name.lstrip("_") in _REG:
                return Unreadable(
                    f"The type {name} looks names up in the catalogue.", "Use search_schemas for what there is."
                )
            continue
        if one.row_of is not None and withheld:
            return Unreadable("A table's name is used as a type.", "Name the columns and their types.")
        if one.kind not in _FINE_KINDS | {"c", "d"}:
            return Unreadable(f"The type {name} is not one that values can have.", "Use another type.")
    return None


def views_of(found: Found) -> dict[str, str]:
    """The text of each view that is reached, by its name."""
    told: dict[str, str] = {}
    for relation in found.relations.values():
        if relation.definition is not None:
            told[f"{relation.schema}.{relation.name}"] = relation.definition
        for one in relation.beneath:
            if one.definition is not None:
                told[f"{one.schema}.{one.name}"] = one.definition
    return told
