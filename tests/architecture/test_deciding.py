"""Laws 5 and 7: outside the core nothing applies the rules or decides by what they read, and nothing admits a call.

What people decided (a switch, whether a server is enabled or in quarantine) is read by the rules of the core. Outside
of it such a field may be passed on (an argument, a field, a key of a document), but it may not choose what happens: in
a condition, a boolean, a comparison, a pattern or a filter. There is no list of exceptions: what must be decided is
asked of the core, which answers with a value of its own.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/pegboard"
FIELDS = frozenset({"enabled", "is_on", "quarantined", "enabled_tools", "disabled_tools", "denied_tools"})
"""What the rules read: of a switch, a server, a toolset, an override, a selection and a principal."""
FILTERS = frozenset({"all", "any", "dropwhile", "filter", "filterfalse", "having", "takewhile", "where"})
"""Calls that choose among what they are given by the truth of their arguments, in Python and in SQLAlchemy."""


def deciding(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a program whose value chooses what happens next."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield test
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                yield node
            case ast.Match(subject=subject, cases=cases):
                yield subject
                yield from (case.pattern for case in cases)
                yield from (case.guard for case in cases if case.guard)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in FILTERS:
                yield from node.args


def names(part: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name whose value is read in this part, with its line; of strings, those that stand for a name."""
    for node in ast.walk(part):
        match node:
            case ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
                yield node.lineno, name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield node.lineno, name
            case ast.MatchClass(kwd_attrs=attributes):
                yield from ((node.lineno, name) for name in attributes)
            case ast.MatchMapping(keys=keys):
                yield from (text for key in keys for text in texts(key))


def texts(side: ast.expr) -> Iterator[tuple[int, str]]:
    """The string literals that an expression is, or lists."""
    for item in side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.lineno, item.value


def decisions(source: str) -> list[tuple[int, str]]:
    """Where this program decides by one of the fields, by line."""
    if not any(field in source for field in FIELDS):
        return []
    parts = deciding(ast.parse(source))
    return sorted({(line, name) for part in parts for line, name in names(part) if name in FIELDS})


@pytest.mark.behaviour("law.nothing_decides_outside_the_core")
def test_nothing_outside_the_core_decides_by_what_the_rules_read() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name!r} decides here. Ask the core for the decision and act on its answer."
        for path in sorted(PACKAGE.rglob("*.py"))
        if PACKAGE / "core" not in path.parents
        for line, name in decisions(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "if tool.enabled: show()",
        "x = a if server.quarantined else b",
        "shown = [t for t in tools if t.enabled]",
        "x = tool.enabled and tool",
        "x = settings.enabled_tools or ()",
        "if row['enabled']: show()",
        "if row.get('enabled', True): show()",
        "if getattr(tool, 'enabled', True): show()",
        "assert tool.enabled",
        "shown = filter(lambda t: t.enabled, tools)",
        "x = any(t.quarantined for t in tools)",
        "q = select(tools).where(tools.c.enabled)",
        "match tool.enabled:\n  case True: show()",
        "match tool:\n  case Tool(enabled=True): show()",
        "match row:\n  case {'enabled': True}: show()",
        "match tool:\n  case t if t.enabled: show()",
    ],
)
def test_a_decision_by_one_of_the_fields_is_found(source: str) -> None:
    assert decisions(source)


@pytest.mark.parametrize(
    "source",
    [
        "class Settings(Model):\n  enabled: bool = True\n  disabled_tools: list[str] | None = None",
        "server = Server(enabled=settings.enabled, disabled=tuple(settings.disabled_tools))",
        "body = {'enabled': row.enabled, 'visible': count}",
        "def enabled_tools(x): return x.enabled",
        "enabled, disabled = row",
        "if 'enabled_tools' in document and 'disabled_tools' in document: refuse()",
        "if locked: print('disabled by the configuration')",
        "match command:\n  case DisableServer(): off()",
        "raise NotAllowed(tool.enabled)",
        "for tool in enabled: show(tool)",
        "print(f'{tool.enabled}')",
    ],
)
def test_passing_a_field_on_is_no_decision(source: str) -> None:
    assert decisions(source) == []


def test_a_decision_is_reported_once_with_its_line_and_name() -> None:
    assert decisions("x = 1\nif not (tool.enabled and tool.enabled):\n  pass\n") == [(2, "enabled")]


def imports_rules(source: str) -> bool:
    """Whether this program imports the rules themselves, under any name."""
    rules = "pegboard.core.decision.rules"
    for node in ast.walk(ast.parse(source) if "rules" in source else ast.Module([], [])):
        match node:
            case ast.Import(names=names) if any(name.name == rules for name in names):
                return True
            case ast.ImportFrom(module=str(module), names=names):
                if module == rules or any(f"{module}.{name.name}" == rules for name in names):
                    return True
    return False


def admissions(source: str) -> list[int]:
    """The lines on which this program makes an admitted call by itself."""
    if "AdmittedCall" not in source:
        return []
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if ast.unparse(call.func).rpartition(".")[2] == "AdmittedCall"]


@pytest.mark.behaviour("law.nothing_decides_outside_the_core")
def test_nothing_outside_the_core_imports_the_rules() -> None:
    found = [
        f"{path.relative_to(ROOT)}: imports the rules. Ask pegboard.core for a verdict or a fact about it."
        for path in sorted(PACKAGE.rglob("*.py"))
        if PACKAGE / "core" not in path.parents and imports_rules(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "from pegboard.core.decision.rules import RULES",
        "from pegboard.core.decision import rules",
        "import pegboard.core.decision.rules",
        "def f():\n  from pegboard.core.decision.rules import RULES",
    ],
)
def test_an_import_of_the_rules_is_found(source: str) -> None:
    assert imports_rules(source)
    assert not imports_rules(source.replace("rules", "status"))


@pytest.mark.behaviour("law.only_admission_admits")
def test_only_admission_makes_an_admitted_call() -> None:
    made = [
        (path.relative_to(PACKAGE).as_posix(), line)
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in admissions(path.read_text(encoding="utf-8"))
    ]
    assert [module for module, _ in made] == ["core/calls/call.py"], (
        f"only admit() may make an AdmittedCall, but so do: {made}"
    )


def test_an_admitted_call_made_elsewhere_is_found_however_it_is_named() -> None:
    source = "AdmittedCall(call, tool)\ncore.call.AdmittedCall(call, tool)\nisinstance(x, AdmittedCall)\n"
    source += "y: AdmittedCall = x\n"
    assert admissions(source) == [1, 2]
