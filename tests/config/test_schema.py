"""The JSON Schema says what the loader says, and the documentation says it too."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.config.loading import FOLDER
from tests.support.collect_failures import each_case

from pegboard.config.json_schema import SETTINGS_SCHEMA_FILE, settings_schema, settings_schema_text
from pegboard.config.keys import root as keys
from pegboard.config.schema.document import to_json
from pegboard.config.schema.fields import ListField, MapField, OrFalseField, TextField
from pegboard.config.schema.section import ConfigSection, NameOrOptionalField
from pegboard.config.settings import InvalidFile, Settings, load_settings_file, load_settings_text, parse_settings_text
from pegboard.core.model.ids import BadId, parse_server_key, parse_toolset_id
from pegboard.core.model.patterns import parse_pattern
from pegboard.core.model.references import parse_reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "reference" / "settings.md"
VALIDATOR = jsonschema_rs.Draft202012Validator(settings_schema(), validate_formats=True)


def fits(text: str) -> bool:
    parsed = parse_settings_text(text, "pegboard.yaml")
    assert parsed.problems == ()
    return VALIDATOR.is_valid(None if parsed.root is None else to_json(parsed.root))


def loads(text: str) -> bool:
    return isinstance(load_settings_text(text, "pegboard.yaml", FOLDER, {}), Settings)


@pytest.mark.behaviour("config.json_schema")
def test_the_published_schema_is_the_one_the_keys_describe() -> None:
    assert SETTINGS_SCHEMA_FILE.read_text("utf-8") == settings_schema_text(), (
        "Write it again with: python -m pegboard.config.json_schema"
    )
    jsonschema_rs.meta.validate(settings_schema())


def examples() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.behaviour("config.json_schema")
@pytest.mark.parametrize("example", examples())
def test_every_example_of_the_reference_loads_and_fits_the_schema(example: str) -> None:
    loaded = load_settings_text(example, "pegboard.yaml", FOLDER, {})
    assert isinstance(loaded, Settings), str(loaded)
    assert fits(example)


def test_every_pegboard_yaml_among_the_examples_loads_and_fits_the_schema() -> None:
    for path in sorted((ROOT / "examples").rglob("pegboard.yaml")):
        loaded = load_settings_file(path)
        assert isinstance(loaded, Settings), str(loaded)
        assert fits(path.read_text("utf-8")), path


GOOD = [
    "",
    "servers: {a: {command: x, args: [1, true, a, '${B:-c}'], env: {A: 1.5}}}",
    "servers: {a: {url: 'HTTPS://h/x'}}",
    "servers: {a: {url: '${U}', transport: streamable_http, headers: {X-A: 1}}}",
    "servers: {a: {url: 'http://h', oauth: false}, b: {url: 'http://h', oauth: }}",
    "servers: {a: {url: http://h, oauth: {client_id: x, client_secret: '${S}', scopes: 'a, b'}}}",
    "servers: {a: {url: http://h, oauth: {client_metadata_url: 'https://h/x', scopes: ['a:b']}}}",
    "servers: {a: {url: http://h, headers: {X-Hosts: '${file:schlüssel}', Hosting: a, Mcp-Own: b}}}",
    "gateway: {url: 'https://tools.example.org:8443', max_values: 2000000}",
    "servers: {a: {command: x, timeouts: {start: 1, call: 30s, stop: 0.5ms}, enabled_tools: 'a, b'}}",
    "selection: {toolsets: all, enabled_tools: [a, 'mcp:a~b', 'mcp:a~b:c', '*:x', 'toolset:a'], disabled_tools: ''}",
    "deny: ['a:*', b, 'mcp:x:y']\ngrants: {a: [], b: all}\nstore: sqlite:///x\naudit: {keep_days: 1.0}",
    "servers: {a: {command: x, start: on_demand, idle_stop: 10m}, b: {url: http://h, start: always}}",
    "servers: {a: {command: x, protocol: handshake}, b: {url: http://h, protocol: latest}}",
    "servers: {a: {url: http://h, headers: {A: 'Bearer ${request:X-Token}', B: '${request:b:-c}'}}}",
    "principals: {a: {token: '${A}'}, b: {token_sha256: " + "a" * 64 + ", toolsets: 'x, y'}}",
    "redact: [iban, 'card_*', 7]\nconfirmation: {deadline: 10m}",
    "confirmation: {consent_days: 7}",
    "confirmation: {manifest_servers: true}",
    "confirmation: {consent_days: never}",
    "redact:\nconfirmation:",
    "overrides: {a: {'mcp:a~b:c': {renderer: markdown, name_override: x, enabled: false}, '*:r*': {renderer: code}}}",
    "overrides: {a: {b: {arguments: {c: {pin: null}, d: {hide: true}, e: {default: [1], description: x}}}}}",
    "overrides: {builtin: {'toolset:builtin': {renderer: frame, renderer_config: {port: 80, url: '$return'}}}}",
    "overrides: {a: {b: {renderer_config: {whatever: 1}, requires_confirmation: true}}}\nx-mine: {}",
    "databases: {a: {url: 'sqlite:///a.db', allow: 'x, y.z', deny: [x.y.z], max_rows: 5, timeout: 500ms}}",
    "databases: {a: {url: 'postgres://u:${P}@h/d?password=${P}', writes: true, force: true}, b: {url: '${B}'}}",
    "databases: {a: {url: 'mysql://u:${file:/run/p}@h/d'}, b: {url: 'mariadb://u@h/d'}, c: {url: 'duckdb:////c'}}",
    "x-mine: [1]\ntoolsets: {a: {name: x, description: y, enabled: true}}\ngateway: {allowed_hosts: ['h:*']}",
]
BAD = [
    "[]",
    "nonsense: 1",
    "servers: []",
    "servers: {A: {command: x}}",
    "servers: {mcp: {command: x}}",
    "servers: {a: }",
    "servers: {a: {}}",
    "servers: {a: {command: x, url: http://h}}",
    "servers: {a: {command: ' '}}",
    "servers: {a: {command: 1}}",
    "servers: {a: {command: '${'}}",
    "servers: {a: {command: x, args: x}}",
    "servers: {a: {command: x, args: ['${env:A}']}}",
    "servers: {a: {command: x, env: {A: }}}",
    "servers: {a: {command: x, env: {'A=B': c}}}",
    "servers: {a: {command: x, headers: {A: b}}}",
    "servers: {a: {url: ftp://h}}",
    "servers: {a: {url: 'http://'}}",
    "servers: {a: {url: http://h, env: {A: b}}}",
    "servers: {a: {url: http://h, headers: {'a b': c}}}",
    "servers: {a: {url: http://h, transport: ws}}",
    "servers: {a: {url: http://h, headers: {hOsT: a}}}",
    "servers: {a: {url: http://h, headers: {MCP-Param-x: a}}}",
    "servers: {a: {url: http://h, headers: {X: ü}}}",
    "servers: {a: {url: http://h, oauth: {client_secret: x}}}",
    "audit: {keep_days: 1e99}",
    "servers: {a: {command: x, timeouts: {call: 1e9}}}",
    "servers: {a: {url: http://h, oauth: true}}",
    "servers: {a: {url: http://h, oauth: x}}",
    "servers: {a: {command: x, oauth: false}}",
    "servers: {a: {url: http://h, oauth: {client_id: ' '}}}",
    "servers: {a: {url: http://h, oauth: {client: x}}}",
    "servers: {a: {url: http://h, oauth: {client_metadata_url: 'http://h/x'}}}",
    "servers: {a: {url: http://h, oauth: {client_metadata_url: 'https://h'}}}",
    "servers: {a: {url: http://h, oauth: {client_id: x, client_metadata_url: 'https://h/x'}}}",
    "servers: {a: {url: http://h, oauth: {scopes: [a b]}}}",
    "gateway: {url: 'https://h/path'}",
    "gateway: {max_values: 10}",
    "servers: {a: {command: x, toolset: all}}",
    "databases: {a: }",
    "databases: {a: {url: a.db}}",
    "databases: {A: {url: 'sqlite:///a.db'}}",
    "databases: {a: {url: 'mysql://u:p@h/d'}}",
    "databases: {a: {url: 'mysql://u:${P:-p}@h/d'}}",
    "databases: {a: {url: 'mysql://h/d?password=p'}}",
    "databases: {a: {url: 'sqlite:///a.db', max_rows: 0}}",
    "databases: {a: {url: 'sqlite:///a.db', nonsense: 1}}",
    "servers: {a: {command: x, enabled: yes}}",
    "servers: {a: {command: x, trust: none}}",
    "servers: {a: {command: x, enabled_tools: [a], disabled_tools: [b]}}",
    "servers: {a: {command: x, enabled_tools: }}",
    "servers: {a: {command: x, timeouts: {call: 0}}}",
    "servers: {a: {command: x, timeouts: {call: 0s}}}",
    "servers: {a: {command: x, timeouts: {call: 3 days}}}",
    "selection: {toolsets: }",
    "selection: {toolsets: [A]}",
    "selection: {enabled_tools: ['mcp:x']}",
    "deny: ['a:']",
    "deny: a",
    "grants: {a: {}}",
    "grants: {' a': []}",
    "servers: {a: {command: x, start: later}}",
    "servers: {a: {command: x, start: on_demand, idle_stop: 0}}",
    "servers: {a: {command: x, protocol: 2025-11-25}}",
    "servers: {a: {command: x, env: {A: '${request:X-Token}'}}}",
    "servers: {a: {command: x, args: ['${request:X-Token}']}}",
    "servers: {a: {url: 'http://h/${request:X-Token}'}}",
    "servers: {a: {url: http://h, headers: {A: '${request:}'}}}",
    "servers: {a: {url: http://h, headers: {A: '${request:a b}'}}}",
    "principals: {local: {token: '${A}'}}",
    "principals: {a: {token: plain}}",
    "principals: {a: {token: '${A:-b}'}}",
    "principals: {a: {token_sha256: 12}}",
    "principals: {a: {}}",
    "store: ./x.db",
    "audit: {keep_days: 0}",
    "audit: {keep_rows: 1.5}",
    "gateway: {allowed_hosts: ['http://h']}",
    "gateway: {allowed_origins: ['https://h/path']}",
    "redact: iban",
    "redact: ['']",
    "confirmation: {deadline: 0}",
    "confirmation: {consent_days: 0}",
    "confirmation: {manifest_servers: 1}",
    "confirmation: {consent_days: 3651}",
    "confirmation: {consent_days: ever}",
    "confirmation: {consent_days: null}",
    "confirmation: {consent_days: 1.5}",
    "confirmation: {wait: 1}",
    "overrides: []",
    "overrides: {A: {b: {enabled: true}}}",
    "overrides: {all: {b: {enabled: true}}}",
    "overrides: {a: {'b:': {enabled: true}}}",
    "overrides: {a: {b: {rendrer: code}}}",
    "overrides: {a: {b: {renderer: nope}}}",
    "overrides: {a: {b: {renderer: code, renderer_config: {nope: 1}}}}",
    "overrides: {a: {b: {renderer: frame, renderer_config: {port: 0}}}}",
    "overrides: {a: {b: {renderer_config: []}}}",
    "overrides: {a: {b: {name_override: ' '}}}",
    "overrides: {a: {b: {enabled: 'false'}}}",
    "overrides: {a: {b: {arguments: {c: {pin: 1, hide: true}}}}}",
    "overrides: {a: {b: {arguments: {c: {value: 1}}}}}",
    "mcpServers: {}",
]


@pytest.mark.behaviour("config.json_schema")
@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_the_loader_accepts(text: str) -> None:
    assert (loads(text), fits(text)) == (True, True)


@pytest.mark.behaviour("config.json_schema")
@each_case("text", BAD)
def test_the_schema_refuses_what_the_loader_refuses(text: str) -> None:
    assert (loads(text), fits(text)) == (False, False)


words = st.text(st.sampled_from("abcmpt:~*?[]-_ 0A"), max_size=12) | st.sampled_from(
    ["mcp:", "mcp::x", "mcp:a:", "toolset:", "toolset:a", "toolset:*", "mcp:a~b:c:d", "mcp:*", "a:", ":a", "mcp:a~b:*"]
)


def item(key: ConfigSection | object) -> TextField:
    assert isinstance(key, ListField)
    assert isinstance(key.item, NameOrOptionalField)
    return key.item.name


@given(words)
@example("0~0:0")
@example("a~b:*")
def test_names_that_the_core_understands_fit_the_schema(text: str) -> None:
    named = text.strip()
    tools, patterns = item(keys.SELECTED_TOOLS.field_type).rule, item(keys.DENY.field_type).rule
    assert isinstance(parse_reference(named), BadId) or tools.mismatch(named) is None
    assert isinstance(parse_pattern(text), BadId) or patterns.mismatch(text) is None


@given(words.filter(lambda text: text.strip() == text and "," not in text))
def test_names_that_the_core_does_not_understand_are_told(text: str) -> None:
    listed = "[" + '"' + text + '"' + "]"
    assert loads(f"selection: {{enabled_tools: {listed}}}") == (not isinstance(parse_reference(text), BadId))
    assert loads(f"deny: {listed}") == (not isinstance(parse_pattern(text), BadId))


@given(
    st.integers(0, 999_999_999)
    | st.sampled_from([8_760, 525_600, 31_536_000]).flatmap(lambda n: st.integers(n - 1, n + 1)),
    st.sampled_from(["", "0", "00"]),
    st.sampled_from(["", ".0", ".000000000", ".5", ".000000001", "."]),
    st.sampled_from(["", " "]),
    st.sampled_from(["", "ms", "s", "m", "h", "d"]),
)
@example(31_536_000, "", ".000000001", "", "s")
@example(8_760, "", ".0", "", "h")
@example(525_600, "0", "", " ", "m")
@example(0, "", "", "", "ms")
def test_a_duration_written_as_text_fits_the_schema_when_it_loads(
    whole: int, zeros: str, rest: str, space: str, unit: str
) -> None:
    text = f"confirmation: {{deadline: '{zeros}{whole}{rest}{space}{unit}'}}"
    assert fits(text) == loads(text), text


@given(st.text(st.sampled_from("ab0-_.~:/A"), max_size=70) | st.sampled_from(["all", "mcp", "builtin", "toolset"]))
def test_ids_are_held_to_the_rules_of_the_core(text: str) -> None:
    assert isinstance(keys.SERVERS.field_type, MapField)
    fits = keys.SERVERS.field_type.name_rule.mismatch(text) is None
    assert fits == (
        not isinstance(parse_toolset_id(text), BadId) and not isinstance(parse_server_key(f"ok~{text}"), BadId)
    )


def sections(section: ConfigSection, heading: str) -> Iterator[tuple[str, str]]:
    """Each key with the heading under which it is described."""
    for key in section.keys:
        yield heading, key.name
        inner: object = key.field_type
        while isinstance(inner, MapField):
            inner = inner.item
        inner = inner.other if isinstance(inner, OrFalseField) else inner
        if isinstance(inner, ConfigSection):
            yield from sections(inner, key.name)


def test_every_key_is_described_in_the_reference_under_its_heading() -> None:
    text = DOCS.read_text("utf-8")
    chapters: dict[str, str] = {}
    for heading, body in re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE):
        # Two sections may have a key of the same name, each with its own heading.
        chapters[heading] = chapters.get(heading, "") + body
    expected = [*sections(keys.PEGBOARD, "Top level")]
    missing = [(at, key) for at, key in expected if f"\n| `{key}` |" not in chapters.get(at, "")]
    assert missing == []
    described = {
        (at, key) for at, body in chapters.items() for key in re.findall(r"^\| `([^`$]+|\$schema)` \|", body, re.M)
    }
    assert described - {*expected} == set(), "a key is described that does not exist"


def test_every_key_of_the_schema_has_a_description() -> None:
    def undescribed(schema: object, at: str) -> Iterator[str]:
        if isinstance(schema, dict):
            for name, inner in schema.get("properties", {}).items():
                if not inner.get("description"):
                    yield f"{at}.{name}"
            for name, inner in schema.items():
                yield from undescribed(inner, f"{at}.{name}")
        elif isinstance(schema, list):
            for inner in schema:
                yield from undescribed(inner, at)

    assert [*undescribed(json.loads(settings_schema_text()), "")] == []


def test_a_broken_text_prints_as_its_problems() -> None:
    broken = load_settings_text("a: 1\nb: 2\n", "pegboard.yaml", FOLDER, {})
    assert isinstance(broken, InvalidFile)
    assert str(broken).splitlines() == [str(problem) for problem in broken.problems]
