"""A glance at a tool misses nothing that reading it text by text would find."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.boards import json_objects, texts
from tests.corpus.figures import HONEST, POISONED
from tests.corpus.measure import CORPUS, samples

from pegboard.core.model.tool import ToolSpec
from pegboard.core.scan import text as where
from pegboard.core.scan.imitations import OtherTools
from pegboard.core.scan.scanner import QuickScan, scan_alone
from pegboard.core.scan.text import parse_word_set
from pegboard.core.scan.texts import is_secret_name, text_marks

OTHERS = OtherTools.build((ToolSpec("send_email"), ToolSpec("readFile"), ToolSpec("a.b")), ("own_tool",))


def is_marked(spec: ToolSpec) -> bool:
    """By reading every text by itself."""
    return any(
        [*text_marks(text, is_name=place.is_name)] or (place.is_parameter and is_secret_name(text))
        for place, text in where.spec_texts(spec)
    )


def is_ordinary(spec: ToolSpec) -> bool:
    return QuickScan(spec).is_ordinary


def is_about_others(spec: ToolSpec, others: OtherTools) -> bool:
    return any([*others.mention_marks(text)] for place, text in where.spec_texts(spec) if place.path() != ("name",))


def may_be_about_others(spec: ToolSpec, others: OtherTools) -> bool:
    read = scan_alone(spec)
    return read.speaks_of_others or others.may_be_mentioned(read.mentions)


PIECES = st.sampled_from(
    [
        *sorted(
            parse_word_set(
                "ignore previous instructions do not tell the user never without telling you are now in mode a b"
                " Ignore Don't 1gn0re pr3vious inst|ructions i g n o r e p v u s System: <system> ### Human: [INST]"
                " other servers tools zqz ~/.ssh/id_rsa .env content of pass send password api_key send_email"
                " readFile a.b own_tool instead"
                " aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM= 69676e6f726520616c6c2070726576696f757320 %69%67%6e %20"
                " \\u0069 &#105; erongi suoiverp vtaber cerivbhf 01101001 105 103 110 data:text/html,"
                " ![x](https://e.example/?q={chat})"
            )
        ),
        *("\u2019", "\u2013", "\u2026", "\u200b", "\u0430", "忽略", "之前", "指令", "\x1b", "\n", "\n\n", " " * 45),
    ]
)
LINES = st.lists(PIECES, max_size=9).map(" ".join) | st.lists(PIECES, max_size=4).map("".join)


@given(
    st.builds(ToolSpec, LINES, LINES, LINES, st.dictionaries(LINES, LINES | st.lists(LINES, max_size=3), max_size=4))
)
@settings(max_examples=400)
def test_a_tool_made_of_suspicious_pieces_is_ordinary_only_when_none_of_its_texts_is_marked(spec: ToolSpec) -> None:
    assert not (is_ordinary(spec) and is_marked(spec))
    assert may_be_about_others(spec, OTHERS) or not is_about_others(spec, OTHERS)


@given(st.builds(ToolSpec, texts, texts, texts, json_objects, json_objects, json_objects))
def test_a_glance_sees_every_text(spec: ToolSpec) -> None:
    all_texts, parameters = where.spec_strings(spec)
    placed = [*where.spec_texts(spec)]
    assert sorted(all_texts) == sorted(text for _, text in placed)
    assert sorted(parameters) == sorted(text for place, text in placed if place.is_parameter)


@pytest.mark.parametrize("name", [*POISONED, *HONEST])
def test_no_tool_of_the_corpus_is_ordinary_at_a_glance_but_marked(name: str) -> None:
    for sample in samples(CORPUS / f"{name}.jsonl"):
        others = OtherTools.build(map(ToolSpec, sample.others))
        assert not (is_ordinary(sample.spec) and is_marked(sample.spec)), sample.id
        assert may_be_about_others(sample.spec, others) or not is_about_others(sample.spec, others), sample.id


def test_most_honest_tools_are_ordinary_at_a_glance() -> None:
    """Else it would be no use."""
    specs = [sample.spec for name in HONEST for sample in samples(CORPUS / f"{name}.jsonl")]
    assert sum(map(is_ordinary, specs)) * 10 > len(specs) * 7
