from __future__ import annotations

import pytest

from agentclip.agent.tokens import Estimator, Weight, weigh, weigh_message
from agentclip.messages import AssistantMessage, Image, ToolCall, ToolMessage, UserMessage
from tests.agent.token_samples import COUNTS

FAMILIES = range(3)


def off(estimate: int, counted: int) -> float:
    return abs(estimate / counted - 1)


@pytest.mark.parametrize("kind", ["english", "code"])
@pytest.mark.parametrize("family", FAMILIES)
def test_english_and_code_are_right_before_the_provider_ever_counted(kind: str, family: int) -> None:
    text, counts = COUNTS[kind]
    assert off(Estimator().tokens(weigh(text)), counts[family]) < 0.15


@pytest.mark.parametrize("family", FAMILIES)
def test_each_kind_is_right_once_the_provider_has_counted_a_few_prompts(family: int) -> None:
    """The prompts are mixed, as conversations are; each kind alone is right afterwards."""
    estimator = Estimator()
    samples = [(weigh(text), counts[family]) for text, counts in COUNTS.values()]
    for first in range(len(samples)):
        for share in (1.0, 0.3):
            mixed = [(samples[first], 1.0), (samples[(first + 1) % len(samples)], share)]
            weight = sum((Weight(w.narrow * part, w.wide * part) for (w, _), part in mixed), Weight())
            estimator.learn(weight, round(sum(counted * part for (_, counted), part in mixed)))
    for weight, counted in samples:
        assert off(estimator.tokens(weight), counted) < 0.15


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_conversation_of_one_kind_is_right_after_its_first_count(kind: str, family: int) -> None:
    text, counts = COUNTS[kind]
    estimator = Estimator()
    half = len(text) // 2
    estimator.learn(weigh(text), counts[family])
    whole = estimator.tokens(weigh(text[:half])) + estimator.tokens(weigh(text[half:]))
    assert off(whole, counts[family]) < 0.15


@pytest.mark.parametrize("counted", [0, -5, 1, 10**9])
def test_a_count_that_makes_no_sense_is_ignored(counted: int) -> None:
    estimator = Estimator()
    estimator.learn(weigh("word " * 500), counted)
    assert estimator.narrow == 1.0


def test_all_that_is_sent_has_a_weight() -> None:
    image = Image("/x.png", "image/png", "x.png", 10, 10)
    assert weigh_message(UserMessage("hi", (image,))).narrow > weigh_message(UserMessage("hi")).narrow + 1000
    call = ToolCall("c", "run", '{"command": "ls"}')
    assert weigh_message(AssistantMessage("ok", (call,))).narrow > weigh_message(AssistantMessage("ok")).narrow + 5
    assert weigh_message(ToolMessage("c", "out" * 100)).narrow > weigh_message(ToolMessage("c", "out")).narrow + 5


def test_reasoning_is_not_sent_and_weighs_nothing() -> None:
    assert weigh_message(AssistantMessage("a", (), "hm " * 999)) == weigh_message(AssistantMessage("a"))


def test_emoji_and_odd_signs_have_a_price() -> None:
    assert weigh("😀").narrow >= 1
    assert weigh("│" * 10).narrow > 5
    assert weigh("привет").narrow > 1
