"""What is wrong with a manifest is told, all of it, with its line and what to do."""

import pytest
from tests.config.manifest.reading import FOLDER, manifest, problems

from pegboard.config.manifest.model import Manifest
from pegboard.config.manifest.reader import MAX_MANIFEST_BYTES, read_manifest
from pegboard.config.manifest.write import format_manifest
from pegboard.config.settings import InvalidFile

ID_RULE = "1 to 64 characters of a-z, 0-9, '_' and '-', the first a letter or digit"


@pytest.mark.behaviour("toolsets.manifest_problems")
def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert problems("""\
        id: Weather
        nmae: Weather
        manifest_version: 2
        tools:
          - id: a b
            entrypoint: tools/weather.py:forecast
          - {id: now, entrypoint: tools.weather.now}
          - entrypont: x:y
        mcp_servers:
          - {command: x}
          - {id: s}
          - {id: t, command: ../up}
          - {id: u, url: "https://h", transport: stdio}
          - {id: v, command: x, transport: sse}
          - {id: w, command: x, trust: open}
        containers:
          - {id: c, image: --privileged}
          - {id: d, image: alpine, mcp: true, tools: [{id: x, command: [y]}]}
          - {id: e, image: alpine, memory: 1MB, cpus: 0}
          - {id: f, image: alpine, tools: [{id: x, command: y}, {id: z, command: [q], input_schema: {type: text}}]}
        requirements: [-r other.txt, ./local]
        secrets: [my key, {name: A, value: b}]
        limits: {memory: lots, time: 0, processes: 1000}
    """) == [
        f"toolset.yaml:1: id: 'Weather' does not fit: use {ID_RULE}.",
        "toolset.yaml:2: nmae: unknown key. Did you mean 'name'?",
        "toolset.yaml:3: manifest_version: this must be 1, the only version there is; it is '2'. "
        "A later Pegboard may know it.",
        "toolset.yaml:5: tools[0].id: 'a b' does not fit: use 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'.",
        "toolset.yaml:6: tools[0].entrypoint: 'tools/weather.py:forecast' does not fit: write package.module:function, "
        "with dots between folders and without .py: tools/weather.py is tools.weather.",
        "toolset.yaml:7: tools[1].entrypoint: 'tools.weather.now' does not fit: write package.module:function, "
        "with dots between folders and without .py: tools/weather.py is tools.weather.",
        "toolset.yaml:8: tools[2].entrypont: unknown key. Did you mean 'entrypoint'?",
        "toolset.yaml:8: tools[2].id: this is missing. The tool's id within the toolset, which models see: "
        "1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'.",
        f"toolset.yaml:10: mcp_servers[0].id: this is missing. The server's id within the toolset: {ID_RULE}.",
        "toolset.yaml:11: mcp_servers[1]: this needs command or url. Write one of them.",
        "toolset.yaml:12: mcp_servers[2].command: this leads out of the toolset's folder. "
        "Put what it needs into the toolset, or write an absolute path.",
        "toolset.yaml:13: mcp_servers[3].transport: stdio goes only with command. Remove this, or correct it.",
        "toolset.yaml:14: mcp_servers[4].transport: a command speaks stdio. Remove this, or correct it.",
        "toolset.yaml:15: mcp_servers[5].trust: unknown key. How far a toolset is trusted is for whoever imports it to "
        "say. Remove this.",
        "toolset.yaml:17: containers[0].image: '--privileged' does not fit: write an image as the engine knows it, "
        "such as docker.io/library/alpine:3.",
        "toolset.yaml:18: containers[1].tools: an image that speaks MCP tells its tools itself. "
        "Remove this, or mcp: true.",
        "toolset.yaml:19: containers[2].memory: this must be from 16MB to 1024GB.",
        "toolset.yaml:19: containers[2].cpus: this must be a number above 0 and at most 1024; it is 0.",
        "toolset.yaml:20: containers[3].tools[0].command: this must be a list, and it is text. Write [one, two].",
        "toolset.yaml:20: containers[3].tools[1].input_schema.type: arguments and results are objects: "
        "write type: object, and what you mean as one of its properties.",
        "toolset.yaml:20: containers[3].tools[0].id: there is a tool 'x' already, at containers[1].tools[0].id on line "
        "18. Choose another id.",
        "toolset.yaml:21: requirements[0]: '-r other.txt' does not fit: write a package and what versions will do, "
        "such as httpx>=0.27; options and paths are not taken here.",
        "toolset.yaml:21: requirements[1]: './local' does not fit: write a package and what versions will do, "
        "such as httpx>=0.27; options and paths are not taken here.",
        "toolset.yaml:22: secrets[0]: a secret's name holds letters, digits and '_', such as API_KEY.",
        "toolset.yaml:22: secrets[1].value: unknown key. A manifest is shared, so no secret stands in it. "
        "It is set where the toolset is imported: pegboard toolset secrets set",
        "toolset.yaml:23: limits.memory: this must be a size: bytes, or a text such as 256MB or 1GB; it is text.",
        "toolset.yaml:23: limits.time: this must be more than 0 seconds and at most a year: every wait has an end.",
        "toolset.yaml:23: limits.processes: this must be a whole number from 1 to 64; it is 1000.",
    ]


@pytest.mark.behaviour("toolsets.manifest_problems")
def test_two_of_one_id_are_told_with_both_places() -> None:
    assert problems("""\
        id: a
        tools:
          - {id: t, entrypoint: "m:f"}
          - {id: t, entrypoint: "m:g"}
        mcp_servers: [{id: s, command: x}]
        containers:
          - {id: s, image: alpine, mcp: true}
        secrets: [A, {name: A}]
    """) == [
        "toolset.yaml:4: tools[1].id: there is a tool 't' already, at tools[0].id on line 3. Choose another id.",
        "toolset.yaml:7: containers[0].id: there is a server or container 's' already, at mcp_servers[0].id on line 5. "
        "Choose another id.",
        "toolset.yaml:8: secrets[1].name: there is a secret 'A' already, at secrets[0] on line 8. Choose another id.",
    ]


@pytest.mark.behaviour("toolsets.manifest_problems")
def test_a_schema_that_is_none_is_told() -> None:
    (told,) = problems("""\
        id: a
        containers:
          - {id: c, image: alpine, tools: [{id: x, command: [y], input_schema: {required: text}}]}
    """)
    assert told.startswith("toolset.yaml:3: containers[0].tools[0].input_schema: this is no JSON Schema: ")


@pytest.mark.behaviour("toolsets.manifest_hostile")
@pytest.mark.parametrize("id", ["../..", "/etc", "a/b", "..", "a~b", "a:b", "C:\\x", "", " ", "A", "all", "mcp", "ä"])
def test_an_id_that_is_a_path_or_no_id_is_refused(id: str) -> None:
    (told,) = problems(f"id: {id!r}")
    assert told.startswith("toolset.yaml:1: id: ")


@pytest.mark.behaviour("toolsets.manifest_hostile")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", f"toolset.yaml:1: id: this is missing. The toolset's id: {ID_RULE}."),
        ("null", f"toolset.yaml:1: id: this is missing. The toolset's id: {ID_RULE}."),
        ("[]", "toolset.yaml:1: this must be a map with keys such as manifest_version, id, name; it is a list."),
        ("a", "toolset.yaml:1: this must be a map with keys such as manifest_version, id, name; it is text."),
        ("id: a\nid: b", "toolset.yaml:2: id: written twice: here and on line 1. Keep one of them."),
        ("id: a\n---\nid: b", "toolset.yaml:2: a second document begins here. Keep one document in a file."),
        ("id: !!python/object:os.system a", "toolset.yaml:1: id: the tag '!!python/object:os.system' is not read here. "
         "Remove it, or put the text in quotes."),
        ("id: a\ntools: " + "[" * 500, "toolset.yaml:2: tools" + "[0]" * 63 + ": more than 64 levels deep. "
         "Nothing here needs to be; flatten it."),
        ("id: a\nname: \x00", "toolset.yaml:2: the character U+0000 cannot stand in YAML. "
         "Remove it, or write it as an escape."),
        ("id: a\nname: \"\\0\"", "toolset.yaml:2: name: this text holds a NUL character or half a character. "
         "Remove it."),
        ("id: a\nname: \"a\\u202eb\"", "toolset.yaml:2: name: 'a\\u202eb' does not fit: it is one line; control "
         "characters, and those that turn the direction of a text, are not allowed."),
    ],
)  # fmt: skip
def test_a_manifest_that_is_none_is_refused_in_words(text: str, told: str) -> None:
    assert problems(text) == [told]


@pytest.mark.behaviour("toolsets.manifest_hostile")
def test_a_manifest_in_another_code_or_too_large_is_refused_in_words() -> None:
    assert problems(b"id: a\nname: \xff") == ["toolset.yaml:2: the byte 0xFF is not UTF-8. Save the file as UTF-8."]
    assert problems("id: a".encode("utf-16")) == ["toolset.yaml:1: this file is saved as UTF-16. Save it as UTF-8."]
    assert problems(b" " * (MAX_MANIFEST_BYTES + 1)) == [
        "toolset.yaml: larger than 2 MB, which is the limit. Is it the right file?"
    ]


@pytest.mark.behaviour("toolsets.manifest_hostile")
def test_a_few_aliases_do_not_stand_for_a_billion_values() -> None:
    lines = ["x-a: &a0 [a, a, a, a, a, a, a, a, a]"]
    lines += [f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    (told,) = problems("id: a\n" + "\n".join(lines))
    assert "more than 250000 values, counting each alias as what it stands for. Use fewer." in told


@pytest.mark.behaviour("toolsets.manifest_hostile")
def test_of_very_many_problems_the_first_are_told_and_the_rest_counted() -> None:
    read = read_manifest("id: a\n" + "\n".join(f"nonsense{n}: 1" for n in range(5_000)), "toolset.yaml", FOLDER, {})
    assert isinstance(read, InvalidFile)
    assert len(read.problems) == 201
    assert str(read.problems[-1]) == "toolset.yaml: and 4800 more problems. Mend these first."


def test_a_large_manifest_is_read_whole() -> None:
    tools = "\n".join(f'  - {{id: t{n}, entrypoint: "tools.m{n}:f"}}' for n in range(1_000))
    rows = "\n".join(f"  - {{tool_id: t{n}, enabled: false}}" for n in range(1_000))
    read = manifest(f"id: a\ntools:\n{tools}\ntool_overrides:\n{rows}\n")
    assert (len(read.tools), len(read.overrides)) == (1_000, 1_000)
    assert manifest(format_manifest(read)) == read


@pytest.mark.behaviour("toolsets.manifest_hostile")
def test_a_text_that_would_take_long_to_look_at_is_refused_by_its_length() -> None:
    blanks = " " * 500_000
    told = problems(f"id: a\nrequirements: ['a{blanks}!']\ntools: [{{id: t, entrypoint: '{'a.' * 250_000}'}}]")
    assert told == [
        "toolset.yaml:2: requirements[0]: 'a" + " " * 60 + "...' does not fit: it has 500002 characters, and 1024 are "
        "the most.",
        "toolset.yaml:3: tools[0].entrypoint: '" + "a." * 30 + "a...' does not fit: it has 500000 characters, and 512 "
        "are the most.",
    ]


@pytest.mark.behaviour("toolsets.manifest_hostile")
def test_half_a_character_in_a_name_is_told_wherever_it_stands() -> None:
    text = r"""{"id": "a", "tools": [{"id": "t", "entrypoint": "m:f",
        "renderer": {"type": "html", "data": {"\ud800": 1}}}],
        "mcp_servers": [{"id": "s", "command": "x", "env": {"\ud800": "a"}}]}"""
    assert problems(text, "toolset.json") == [
        "toolset.json:2: tools[0].renderer: this text holds a NUL character or half a character. Remove it.",
        "toolset.json:3: mcp_servers[0].env.'\\ud800': '\\ud800' cannot be a name here: it holds half a character.",
    ]


@pytest.mark.behaviour("toolsets.manifest_hostile")
@pytest.mark.parametrize("word", ["-sk", "-eyJ", "Bearer x ${A} ", "://x?key=", "-----BEGIN ", "--token=", "a://a@"])
def test_texts_made_to_be_looked_at_for_long_are_written_soon(word: str) -> None:
    text = word * (65_000 // len(word))
    read = manifest(f"id: a\nmcp_servers: [{{id: s, command: x, args: ['{text}'], env: {{A: '{text}'}}}}]")
    assert isinstance(manifest(format_manifest(read)), Manifest)
