"""What can be done on the screen stands in four places: the table of actions, F1, the palette, docs/keys.md. They agree."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from agentclip import paths
from agentclip.agent.words import WORDS as AGENT_WORDS
from agentclip.cli.keymap import page
from agentclip.ui.actions import ACTIONS, OVER_LISTS, Action, Place
from agentclip.ui.app import ChatApp
from agentclip.ui.help_screen import help_text
from agentclip.ui.keymap import LISTS, KeyMap
from agentclip.ui.palette import EVERYWHERE, LEFT_OUT, entries
from agentclip.ui.picker import Picker
from tests.cli.program import agentclip as program

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_of_the_docs_is_the_one_that_the_program_makes(tmp_path: Path) -> None:
    """`agentclip keymap --markdown > docs/keys.md` mends it."""
    written = (DOCS / "keys.md").read_text(encoding="utf-8")
    assert written == page()
    assert program("keymap", "--markdown", cwd=tmp_path).stdout.decode() == written


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_stands_in_help_in_the_palette_and_on_the_page(action: Action) -> None:
    keymap = KeyMap()
    offered = {row.value.id: row for row in entries(keymap)}
    assert action.keys or action.word or action.id in offered, "nobody could ask for it"
    if action.keys:
        assert f"  {keymap.named(action.id):<30} {action.title}" in help_text(keymap, width=200).split("\n")
    if action.word:
        assert any(line.startswith(f"  {action.word} ") for line in help_text(keymap, width=200).split("\n"))
    if action.place in EVERYWHERE and action.id not in LEFT_OUT:
        assert action.title.lower() == offered[action.id].title.lower()
        assert keymap.named(action.id) in offered[action.id].detail
    (row,) = [line for line in page().split("\n") if line.endswith(f"| `{action.id}` |")]
    assert f"| {action.title} |" in row
    assert action.word in row
    assert page().index(f"## {action.place}\n") < page().index(row)


def test_the_palette_offers_nothing_else() -> None:
    known = {action.id for action in ACTIONS} | {word for word, _, _ in AGENT_WORDS}
    ids = [row.value.id for row in entries(KeyMap())]
    assert set(ids) <= known
    assert len(set(ids)) == len(ids)
    assert {word for word, _, _ in AGENT_WORDS} <= set(ids)


@pytest.mark.parametrize("action", [each for each in ACTIONS if each.does.startswith("app.")], ids=lambda action: action.id)
def test_what_the_app_is_to_do_is_something_it_can(action: Action) -> None:
    name = action.does.removeprefix("app.").partition("(")[0]
    assert callable(getattr(ChatApp, f"action_{name}", None))


def test_ids_are_unique_and_no_key_means_two_things_in_one_place() -> None:
    ids = [action.id for action in ACTIONS]
    assert len(set(ids)) == len(ids)
    words = [action.word for action in ACTIONS if action.word] + [word for word, _, _ in AGENT_WORDS]
    assert len(set(words)) == len(words)
    for one, other in combinations(ACTIONS, 2):
        if one.place is other.place:
            assert not set(filter(None, one.keys.split(","))) & set(other.keys.split(",")), (one.id, other.id)


def test_no_key_that_is_unbound_on_purpose_is_bound() -> None:
    keys = {key for action in ACTIONS for key in action.keys.split(",")}
    assert not keys & {"ctrl+h", "ctrl+i", "ctrl+m", "ctrl+s", "ctrl+q", "ctrl+a", "ctrl+b"}


def test_what_works_over_lists_is_in_the_table() -> None:
    assert {action.does for action in ACTIONS if action.place is Place.ANYWHERE} >= OVER_LISTS


def test_keys_of_every_list_are_compared_with_those_of_all_lists() -> None:
    places = {vars(each).get("PLACE", Place.LIST) for each in Picker.__subclasses__()}
    assert Place.SESSIONS in places
    assert places <= set(LISTS)


def test_the_template_is_a_file_that_changes_nothing(tmp_path: Path) -> None:
    made = program("keymap", "--toml", cwd=tmp_path)
    path = tmp_path / "keymap.toml"
    path.write_bytes(made.stdout)
    keymap = KeyMap.load(path)
    assert keymap.complaints == ()
    assert keymap.changed == {action.id: action.keys for action in ACTIONS}


def test_the_list_shows_the_keys_of_the_person_and_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    path = paths.keymap_file()
    path.parent.mkdir(parents=True)
    path.write_text('"pane.next" = "alt+p"\n"nothing" = "f1"\n', encoding="utf-8")
    done = program("keymap", cwd=tmp_path)
    assert "pane.next          Alt+P " in done.stdout.decode()
    assert done.stderr.decode().count("\n") == 1
    assert "`nothing`: there is no such action" in done.stderr.decode()
    assert done.returncode == 0
