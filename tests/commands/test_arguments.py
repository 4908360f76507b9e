from __future__ import annotations

import pytest

from agentclip.command import Declaration, Parameter
from agentclip.commands.arguments import asks_for_help, parse
from agentclip.errors import CommandError, ErrorCode

SEARCH = Declaration(
    "memory search",
    "Search what is remembered",
    parameters=(
        Parameter("query", "what to look for", required=True),
        Parameter("folder", "where", "path", default="."),
        Parameter("--topic", "only there", short="-t", value="topic_id"),
        Parameter("--limit", "how many", "integer", short="-n", default="10", minimum=1, maximum=99),
        Parameter("--verbose", "say more", "boolean", short="-v"),
    ),
)
MANY = Declaration("join", "Join words", parameters=(Parameter("words", "them", required=True, repeated=True),))


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["q"], {"query": "q", "folder": ".", "--topic": None, "--limit": 10, "--verbose": None}),
        (["q", "-t", "a", "-n", "5", "-v"], {"query": "q", "--topic": "a", "--limit": 5, "--verbose": True}),
        (["--topic=a=b", "--limit=7", "q"], {"query": "q", "--topic": "a=b", "--limit": 7}),
        (["-n5", "q", "-tx.y"], {"query": "q", "--topic": "x.y", "--limit": 5}),
        (["q", "--topic", "-"], {"query": "q", "--topic": "-"}),
        (["q", "--topic="], {"query": "q", "--topic": ""}),
        (["--", "--topic", "-v"], {"query": "--topic", "folder": "-v", "--verbose": None}),
        (["-v", "--", "--help"], {"query": "--help", "--verbose": True}),
        (["-"], {"query": "-"}),
        (["- item of a list"], {"query": "- item of a list"}),
        (["---\ntitle: x"], {"query": "---\ntitle: x"}),
        (["-5"], {"query": "-5"}),
        ([""], {"query": ""}),
    ],
)
def test_words_are_read_by_the_declaration(words: list[str], values: dict[str, object]) -> None:
    read = parse(SEARCH, words).values
    assert {name: read[name] for name in values} == values


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["q", "--limi", "3"],
            ErrorCode.UNKNOWN_FLAG,
            "unknown flag --limi; nearest: --limit; flags: -t, --topic,",
        ),
        (["q", "--lim=3"], ErrorCode.UNKNOWN_FLAG, "unknown flag --lim;"),
        (["q", "-x"], ErrorCode.UNKNOWN_FLAG, "unknown flag -x;"),
        (["q", "-vn"], ErrorCode.UNKNOWN_FLAG, "unknown flag -vn;"),
        (["q", "-n"], ErrorCode.MISSING_ARGUMENT, "flag -n needs a value"),
        (["q", "--topic", "-n", "3"], ErrorCode.MISSING_ARGUMENT, "flag --topic needs a value"),
        (["--topic", "--", "q"], ErrorCode.MISSING_ARGUMENT, "flag --topic needs a value"),
        (["q", "-n", "three"], ErrorCode.INVALID_TYPE, "--limit must be an integer, got 'three'"),
        (["q", "-n", "1_0"], ErrorCode.INVALID_TYPE, "--limit must be an integer"),
        (["q", "-n", " 1"], ErrorCode.INVALID_TYPE, "--limit must be an integer"),
        (["q", "-n", "٣"], ErrorCode.INVALID_TYPE, "--limit must be an integer"),
        (["q", "-n", "9" * 5000], ErrorCode.INVALID_TYPE, "--limit must be an integer"),
        (["q", "-n="], ErrorCode.INVALID_TYPE, "--limit must be an integer"),
        (["q", "-n", "0"], ErrorCode.INVALID_VALUE, "--limit is 0, allowed: 1..99"),
        (["q", "-n", "-3"], ErrorCode.INVALID_VALUE, "--limit is -3, allowed: 1..99"),
        (["q", "-n", "100"], ErrorCode.INVALID_VALUE, "--limit is 100, allowed: 1..99"),
        (["q", "--verbose=yes"], ErrorCode.INVALID_TYPE, "flag --verbose takes no value, got 'yes'"),
        (["q", "-v", "--verbose"], ErrorCode.INVALID_VALUE, "flag --verbose is given twice"),
        (["q", "-n1", "--limit=2"], ErrorCode.INVALID_VALUE, "flag --limit is given twice"),
        (["q", "f", "surplus"], ErrorCode.USAGE, "unexpected argument 'surplus'"),
        ([], ErrorCode.USAGE, "usage: memory search <query> [folder] [-t topic_id] [-n limit] [-v]"),
        (["-v"], ErrorCode.USAGE, "usage: memory search <query>"),
    ],
)
def test_words_that_do_not_fit_are_rejected_before_anything_runs(words: list[str], code: ErrorCode, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse(SEARCH, words)
    assert caught.value.code is code
    assert caught.value.code.exit_status == 2
    assert caught.value.message.startswith(message)
    assert len(caught.value.line("memory")) < 500


def test_missing_arguments_are_answered_with_the_usage_of_the_seed() -> None:
    with pytest.raises(CommandError) as caught:
        parse(SEARCH, [])
    assert caught.value.line("memory") == (
        "[error] memory: usage: memory search <query> [folder] [-t topic_id] [-n limit] [-v]"
    )


def test_the_next_step_of_a_wrong_call_is_the_help_of_that_subcommand() -> None:
    with pytest.raises(CommandError) as caught:
        parse(SEARCH, ["q", "--nope"])
    assert caught.value.line("memory").endswith("(UNKNOWN_FLAG). Use: memory search --help")


def test_a_repeated_positional_takes_all_words() -> None:
    assert parse(MANY, ["a", "--", "-b", "--"]).words("words") == ("a", "-b", "--")


@pytest.mark.parametrize(
    ("words", "asked"),
    [(["--help"], True), (["a", "-n", "--help"], True), (["--", "--help"], False), (["--helpme"], False), ([], False)],
)
def test_help_is_asked_for_anywhere_before_two_dashes(words: list[str], asked: bool) -> None:  # noqa: FBT001  a table
    assert asks_for_help(words) is asked
