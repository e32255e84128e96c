"""Names and sizes of the source: what a stranger needs to find code by the tree, each rule seen to fail once."""

import ast
import builtins
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src/pegboard"
MAX_MODULES = 27
MIN_LINES = 60

IRREGULAR = frozenset(
    [
        "told",
        "said",
        "shown",
        "held",
        "kept",
        "given",
        "lent",
        "asked",
        "heard",
        "meant",
        "made",
        "found",
        "put",
        "brought",
        "thrown",
        "written",
        "read",
        "left",
        "gone",
        "begun",
        "done",
        "drawn",
        "known",
        "seen",
        "taken",
        "spoken",
        "hidden",
        "stood",
        "lost",
        "met",
        "set",
        "cut",
        "sent",
        "bound",
        "worn",
        "built",
        "torn",
        "grown",
        "chosen",
        "broken",
        "frozen",
        "fallen",
        "whose",
    ]
)
NOUNS = frozenset(
    [
        "testing",
        "typing",
        "logging",
        "routing",
        "rendering",
        "templating",
        "caching",
        "timing",
        "building",
        "reporting",
        "pricing",
        "listing",
        "setting",
        "tracing",
        "embedding",
        "encoding",
        "string",
        "mapping",
        "warning",
        "binding",
    ]
)
"""Words that end like a participle and are nouns of the field."""

ALLOWED = {
    "core.databases.rows.DatabaseFinding": "a finding is a noun",
    "core.model.confirmation.ConfirmationSetting": "a setting is a noun",
    "core.scan.findings.ScanFinding": "a finding is a noun",
    "providers.docspace.api.DocSpaceApi.put": "the method of HTTP",
    "tools.context.ToolContext.cancelled": "public, and the word of the MCP SDK",
}
SHARED_CLASSES = {"ToolContext": "toolsets of Covalt import it from the module that stands in for theirs"}
ENTRY_POINTS = {
    "__main__": "python -m pegboard",
    "providers.container.launch": "run by its path, without the package",
    "providers.python.worker.main": "the program of a worker process, run by its name",
    "providers.python.worker.stand_ins.agno_toolset": "imported by toolsets under a name that is not ours",
    "store.migrations.env": "run by Alembic",
    "surfaces.cli.serve": "imported by its name when the command is used",
}


def is_participle(name: str) -> bool:
    word = name.strip("_").lower()
    ends_like_one = re.fullmatch(r"[a-z]{3,}(ed|ing)", word) is not None
    return word not in NOUNS and "_" not in word and (word in IRREGULAR or ends_like_one)


def sources(root: Path) -> dict[str, ast.Module]:
    """Every module below a package, by its dotted name; packages end in `__init__`. Migrations are not read."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
        if "versions" not in path.parts
    }


def definitions(body: list[ast.stmt], place: str) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{place}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{place}.{node.name}")


def participles(tree: Mapping[str, ast.Module]) -> list[str]:
    """Modules, classes and public functions that are named by a bare participle or gerund."""
    modules = [name for name in tree if is_participle(name.rpartition(".")[2])]
    inside = [
        full
        for name, module in tree.items()
        for full, node in definitions(module.body, name)
        if is_participle(full.rpartition(".")[2])
        and (isinstance(node, ast.ClassDef) or not full.rpartition(".")[2].startswith("_"))
    ]
    return modules + inside


def shared_classes(tree: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for name, module in tree.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return {name: places for name, places in found.items() if len(places) > 1}


def large_packages(tree: Mapping[str, ast.Module]) -> dict[str, int]:
    counts = Counter(name.rpartition(".")[0] for name in tree if not name.endswith("__init__"))
    return {package: count for package, count in counts.items() if count > MAX_MODULES}


def imports(tree: Mapping[str, ast.Module], root: str, *, lazy: bool) -> dict[str, set[str]]:
    """Which modules each imports: when it is itself imported, or `lazy` too, anywhere in it."""
    known = {name.removesuffix(".__init__") for name in tree}
    found = {}
    for name, module in tree.items():
        here = name.split(".")[:-1]
        found[name.removesuffix(".__init__")] = {
            target
            for node in (ast.walk(module) if lazy else at_import(module.body))
            if isinstance(node, ast.ImportFrom)
            for base in [_base(node, here, root)]
            if base is not None
            for alias in node.names
            for target in [f"{base}.{alias.name}".lstrip(".") if f"{base}.{alias.name}".lstrip(".") in known else base]
            if target in known and target != name.removesuffix(".__init__")
        }
    return found


def _base(node: ast.ImportFrom, here: list[str], root: str) -> str | None:
    if node.level:
        folder = here[: len(here) - node.level + 1]
        return ".".join([*folder, *([node.module] if node.module else [])])
    module = node.module or ""
    return module.removeprefix(root).lstrip(".") if module == root or module.startswith(f"{root}.") else None


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from at_import(node.body)
        else:
            yield node


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Nodes that reach each other: what is left when those that lead nowhere or come from nowhere are taken away."""
    left = {name: set(targets) for name, targets in edges.items()}
    while True:
        targets = {each for found in left.values() for each in found}
        loose = [name for name, found in left.items() if not found & left.keys() or name not in targets]
        if not loose:
            return [sorted(left)] if left else []
        for name in loose:
            del left[name]


def sibling_edges(edges: Mapping[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """For each package, which of its own modules and packages import which others of them."""
    found = defaultdict[str, defaultdict[str, set[str]]](lambda: defaultdict(set))
    for source, targets in edges.items():
        for target in targets:
            one, other = source.split("."), target.split(".")
            depth = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
            if depth is not None:
                found[".".join(one[:depth])][one[depth]].add(other[depth])
    return {package: dict(inside) for package, inside in found.items()}


def crumbs(tree: Mapping[str, ast.Module], root: str, lines: Mapping[str, int]) -> list[str]:
    """Short modules with one importer or none: they belong into it."""
    importers = Counter(target for targets in imports(tree, root, lazy=True).values() for target in targets)
    return [
        name
        for name, count in lines.items()
        if count < MIN_LINES and importers[name] <= 1 and not name.endswith("__init__")
    ]


TREE = sources(ROOT)


@pytest.mark.behaviour("tree.plain_names")
def test_no_module_class_or_public_function_is_named_by_a_bare_participle() -> None:
    found = [name for name in participles(TREE) if name not in ALLOWED]
    assert not found, f"Name what each does, or what it returns: {found}"


@pytest.mark.behaviour("tree.plain_names")
def test_class_names_are_unique() -> None:
    found = {name: places for name, places in shared_classes(TREE).items() if name not in SHARED_CLASSES}
    assert not found, f"Say in each name of which kind it is: {found}"


@pytest.mark.behaviour("tree.small_modules")
def test_no_package_holds_more_modules_than_a_reader_can_look_through() -> None:
    assert large_packages(TREE) == {}


@pytest.mark.behaviour("tree.no_cycles")
def test_no_modules_import_each_other_and_no_siblings_in_a_package() -> None:
    edges = imports(TREE, "pegboard", lazy=False)
    assert cycles(edges) == []
    siblings = {package: cycles(inside) for package, inside in sibling_edges(edges).items()}
    assert {package: found for package, found in siblings.items() if found} == {}


@pytest.mark.behaviour("tree.small_modules")
def test_a_short_module_with_one_importer_is_part_of_it() -> None:
    lines = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_bytes().count(b"\n")
        for path in ROOT.rglob("*.py")
        if "versions" not in path.parts
    }
    found = [name for name in crumbs(TREE, "pegboard", lines) if name not in ENTRY_POINTS]
    assert not found, f"Merge each into the module that imports it: {found}"


def test_what_is_allowed_is_still_there() -> None:
    names = {full for name, module in TREE.items() for full, _ in definitions(module.body, name)}
    assert {*ALLOWED} - names == set()
    assert {*ENTRY_POINTS} - TREE.keys() == set()
    assert {*SHARED_CLASSES} - shared_classes(TREE).keys() == set()


def plant(folder: Path, **modules: str) -> dict[str, ast.Module]:
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return sources(folder)


def test_each_kind_of_bad_name_is_found(tmp_path: Path) -> None:
    text = (
        "class Told: ...\nclass Good:\n  def held(self): ...\n  def _kept(self): ...\ndef shown(): ...\ndef show(): ..."
    )
    assert participles(plant(tmp_path, given="", model=text)) == [
        "given",
        "model.Told",
        "model.Good.held",
        "model.shown",
    ]


def test_classes_of_one_name_are_found_in_functions_too(tmp_path: Path) -> None:
    tree = plant(tmp_path, a="class Ticket: ...", b="def f():\n  class Ticket: ...", c="class Other: ...")
    assert shared_classes(tree) == {"Ticket": ["a", "b"]}


def test_a_package_with_too_many_modules_is_found(tmp_path: Path) -> None:
    tree = plant(tmp_path, **{f"inner__m{number}": "" for number in range(MAX_MODULES + 1)}, other="")
    assert large_packages(tree) == {"inner": MAX_MODULES + 1}


def test_a_cycle_of_modules_is_found_and_one_for_types_alone_is_none(tmp_path: Path) -> None:
    tree = plant(
        tmp_path,
        a="from wall.b import x",
        b="from .c import x",
        c="from wall import a",
        d="from wall.e import x",
        e="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from wall.d import x",
    )
    assert cycles(imports(tree, "wall", lazy=False)) == [["a", "b", "c"]]


def test_packages_that_import_each_other_are_found(tmp_path: Path) -> None:
    tree = plant(tmp_path, one__a="from wall.two.b import x", two__b="", two__c="from wall.one.d import x", one__d="")
    edges = imports(tree, "wall", lazy=False)
    assert cycles(edges) == []
    assert cycles(sibling_edges(edges)[""]) == [["one", "two"]]


def test_a_short_module_with_one_importer_is_found(tmp_path: Path) -> None:
    tree = plant(tmp_path, a="from wall.b import x\nfrom wall.c import x", b="", c="from .b import x", d="")
    assert crumbs(tree, "wall", {"a": 100, "b": 5, "c": 5, "d": 100}) == ["c"]


def class_references(module: ast.Module, source: str) -> list[str]:
    """Names in backquotes, in docstrings and comments, that are written like those of classes: `ToolCall` in
    `ToolCall.audience`, too."""
    texts = [
        node.value.value
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    texts += [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    return [
        name
        for text in texts
        for name in re.findall(r"(?<!`)`([A-Z][a-z]+(?:[A-Z][a-z]+)*)(?:\.\w+)?(?:\(\))?`(?!`)", text)
    ]


def names_in_use(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.ClassDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (other or name).split(".")
            case _:
                pass


FOREIGN = {"Doc": "of annotated_doc", "Required": "of typing"}
"""Classes that docstrings name and no module imports."""


def test_classes_named_in_docstrings_and_comments_exist() -> None:
    known = {name for module in TREE.values() for name in names_in_use(module)} | {*FOREIGN, *dir(builtins)}
    missing = [
        f"{path.relative_to(ROOT)}: `{name}` does not exist. Write its new name."
        for path in sorted(ROOT.rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        for name in class_references(ast.parse(source), source)
        if name not in known
    ]
    assert missing == []


def test_a_class_is_found_in_a_docstring_and_in_a_comment() -> None:
    source = '"""Raises `GoneError`, and `other` by ``Two``."""\n\n# As of `Former.call`.\nx = 1\n'
    assert class_references(ast.parse(source), source) == ["GoneError", "Former"]
