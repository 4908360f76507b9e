"""The parser against shfmt's tree, bash's syntax check and bash's own words."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentclip.results import Chain, Stage
from agentclip.shell.parse import parse_chain
from tests.spec.corpus import entries
from tests.spec.oracle import Tree, bash_accepts, bash_words, shfmt_tree
from tests.spec.strategies import joined, lines, texts

CORPUS = [entry.line for entry in entries()]
UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.fixture(scope="module")
def trees() -> dict[str, Tree | None]:
    return {line: shfmt_tree(line) for line in CORPUS}


def shape(chain: Chain) -> tuple[object, ...]:
    """A chain as `Tree.pipelines` has it."""
    return tuple(
        (
            pipeline.join.value,
            pipeline.negated,
            tuple((stage.offset, stage.text, stage.pipes_stderr) for stage in pipeline.stages),
        )
        for pipeline in chain.pipelines
    )


def stages(chain: Chain) -> list[Stage]:
    return [stage for pipeline in chain.pipelines for stage in pipeline.stages]


def check(line: str) -> None:
    """Whatever is split has shfmt's tree, is no syntax error for bash, and has bash's words."""
    chain = parse_chain(line)
    assert all(line[stage.offset : stage.offset + len(stage.text)] == stage.text for stage in stages(chain))
    if chain.whole:
        assert shape(chain) == (("always", False, ((0, line, False),)),)
        assert stages(chain)[0].words is None
        return
    tree = shfmt_tree(line)
    assert tree is not None
    assert shape(chain) == tree.pipelines
    assert bash_accepts(line)
    literal = [stage for stage in stages(chain) if stage.words is not None and not stage.redirects and not stage.assignments]
    assert [stage.words for stage in literal] == bash_words([stage.text for stage in literal])


def test_every_split_line_of_the_corpus_has_the_tree_of_shfmt(trees: dict[str, Tree | None]) -> None:
    for line, tree in trees.items():
        chain = parse_chain(line)
        if not chain.whole:
            assert tree is not None, line
            assert shape(chain) == tree.pipelines, line


def test_nearly_every_plain_line_of_the_corpus_is_seen_stage_by_stage(trees: dict[str, Tree | None]) -> None:
    plain = [line for line, tree in trees.items() if tree is not None and tree.plain]
    split = [line for line in plain if not parse_chain(line).whole]
    assert len(plain) > 700
    assert len(split) / len(plain) >= 0.97


def test_the_literal_words_of_the_corpus_are_what_bash_makes_of_them() -> None:
    found = [stage for line in CORPUS for stage in stages(parse_chain(line)) if stage.words and not stage.assignments]
    plain = [stage for stage in found if not stage.redirects]
    assert len(plain) > 1000
    assert [stage.words for stage in plain] == bash_words([stage.text for stage in plain])


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=UNHURRIED)
@given(line=st.one_of(texts(), lines()))
@example("a 2>&1 >f |& b")
@example('echo "$x\\\ny"')
@example("a $(`b`#c)")
@example("a # \\\nb")
@example("! # c")
@example("x>2>&1 >f")
def test_whatever_is_split_is_read_as_shfmt_and_bash_read_it(line: str) -> None:
    check(line)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=20_000, deadline=None, suppress_health_check=UNHURRIED, print_blob=True)
@given(line=st.one_of(texts(), texts(), lines(), joined(CORPUS)))
def test_whatever_is_split_is_read_as_shfmt_and_bash_read_it_in_many_cases(line: str) -> None:
    check(line)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(text=st.one_of(st.text(), texts(), st.text(alphabet="ab \n\t|&;<>()$`\\\"'*?[]#~=%!{}0123")))
def test_any_text_has_a_chain(text: str) -> None:
    chain = parse_chain(text)
    assert chain.source == text
    assert "".join(stage.text for stage in stages(chain)) or not text.strip() or "#" in text or "\\\n" in text


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 5000,
        "`" * 4999,
        '"$(' * 5000,
        "(" * 5000,
        "{ " * 5000,
        "a |" * 5000 + "a",
        "${x:-" * 5000,
        "! " * 5000,
        "'" + "x" * 10**6,
    ],
    ids=lambda text: text[:6],
)
def test_deep_nesting_and_endless_pipelines_are_taken_whole(text: str) -> None:
    assert parse_chain(text).whole


def test_long_lines_are_read_in_linear_time() -> None:
    line = " ".join(f"word{number} 'quoted {number}' \"$x\" # x" for number in range(40_000)).replace("#", "\\#")
    assert parse_chain(f"echo {line}").pipelines[0].stages[0].text == f"echo {line}"
