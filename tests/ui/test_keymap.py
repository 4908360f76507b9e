"""`keymap.toml`: what may stand in it, what is said of the rest, and that the keys of the person are the ones that act."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentclip import paths
from agentclip.ui.actions import ACTIONS, Action
from agentclip.ui.help_screen import help_text
from agentclip.ui.keymap import KeyMap, hints, key_names, parse_key
from tests.ui.screens import drawn, make_app, screen_text, send, until
from tests.ui.scripted import ScriptedAgent


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(text: str) -> Path:
    path = paths.keymap_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(text: str) -> KeyMap:
    return KeyMap.load(write(text))


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("f10", "f10"),
        ("F10", "f10"),
        ("Ctrl+J", "ctrl+j"),
        ("^J", "ctrl+j"),
        ("shift+ctrl+left", "ctrl+shift+left"),
        ("alt+x", "alt+x"),
        ("PgUp", "pageup"),
        ("Shift+PgDn", "shift+pagedown"),
        ("Esc", "escape"),
        ("return", "enter"),
        ("/", "slash"),
        ("slash", "slash"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        ("n", "n"),
        ("N", "N"),
        ("shift+n", "N"),
        (" f10 ", "f10"),
        ("space", "space"),
        ("f25", None),
        ("ctrl", None),
        ("ctrl+", None),
        ("hyper+x", None),
        ("ctrl+ctrl+x", None),
        ("foo", None),
        ("", None),
        ("\x1b", None),
    ],
)
def test_keys_are_read_as_people_write_them(said: str, key: str | None) -> None:
    assert parse_key(said) == key


@pytest.mark.parametrize("action", [action for action in ACTIONS if action.keys], ids=lambda action: action.id)
def test_every_key_of_the_table_is_read_as_it_is_shown(action: Action) -> None:
    keys = action.keys.split(",")
    assert [parse_key(key_names(key)) for key in keys] == keys


@pytest.mark.parametrize(
    "text",
    [
        '"pane.next" = "f10"',
        'pane.next = "F10"',
        '[pane]\nnext = ["f10"]',
    ],
)
def test_an_id_may_be_written_in_every_way_toml_has(text: str) -> None:
    keymap = load(text)
    assert (keymap.changed, keymap.complaints) == ({"pane.next": "f10"}, ())
    assert keymap.named("pane.next") == "F10"
    assert keymap.named("app.help") == "F1"


def test_several_keys_and_none() -> None:
    keymap = load('"prompt.newline" = "ctrl+n, alt+enter"\n"layers.split" = ""\n"pane.maximise" = []')
    assert keymap.complaints == ()
    assert keymap.named("prompt.newline") == "Ctrl+N, Alt+Enter"
    assert keymap.named("prompt.newline", first=True) == "Ctrl+N"
    assert keymap.named("layers.split") == keymap.named("pane.maximise") == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"pane.nxt" = "f10"', ["line 1", "`pane.nxt`", "no such action", "`pane.next`"]),
        ('\n\n"pane.next" = "f77"', ["line 3", "'f77' is no key", "Allowed: f10"]),
        ('"pane.next" = 7', ["line 1", "this is no key"]),
        ('"pane.next" = [["f10"]]', ["this is no key"]),
        ('"pane.next" = "ctrl+h"', ["Backspace"]),
        ('"pane.next" = "ctrl+i"', ["Tab"]),
        ('"pane.next" = "ctrl+m"', ["Enter"]),
        ('"prompt.newline" = "x"', ["could not be typed"]),
        ('"pane.next" = "/"', ["could not be typed"]),
        ('"pane.next" = "f1"', ["F1 already does: help (`app.help`)"]),
        ('"prompt.newline" = "f6"', ["F6 already does: next pane"]),
        ('"raw.jump" = "left"', ["Left already does: to the left"]),
        ('"pane.next" = "f10"\n"layers.split" = "f10"', ["line 2", "F10 already does: next pane"]),
        ('"pane.next" = "f10', ["Unterminated string", "Write lines such as"]),
        ('"a\\u001bb" = "f10"', ["no such action"]),
    ],
)
def test_what_is_wrong_is_one_line_that_says_where_and_what_is_allowed(text: str, words: list[str]) -> None:
    keymap = load(text + '\n"run.next" = "alt+n"' if text.count('"') % 2 == 0 else text)
    (complaint,) = keymap.complaints
    assert "\n" not in complaint
    assert complaint.isprintable()
    assert all(word in complaint for word in [str(paths.keymap_file()), *words]), complaint
    if text.count('"') % 2 == 0:
        assert keymap.named("run.next") == "Alt+N", "the rest counts"


def test_keys_that_may_not_arrive_are_bound_and_said() -> None:
    for key, reason in (("ctrl+s", "stop their output"), ("ctrl+q", "Ctrl+S"), ("ctrl+a", "screen"), ("ctrl+b", "tmux")):
        keymap = load(f'"pane.next" = "{key}"')
        assert keymap.changed == {"pane.next": key}
        assert reason in " ".join(keymap.complaints)


def test_two_actions_may_change_places_or_give_way() -> None:
    assert load('"pane.next" = "f2"\n"layers.split" = "f6"').complaints == ()
    assert load('"app.help" = "f11"\n"pane.next" = "f1"').complaints == ()
    assert load('"raw.left" = "g"').complaints != ()
    assert load('"chat.expand" = "g"').complaints == (), "in another pane"


def test_no_way_to_cancel_or_to_quit_by_key_is_allowed_but_said() -> None:
    keymap = load('"run.cancel" = ""\n"run.escape" = ""\n"app.interrupt" = ""\n"app.quit" = ""')
    assert len(keymap.changed) == 4
    assert [("/cancel" in line, "/quit" in line) for line in keymap.complaints] == [(True, False), (False, True)]


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    assert KeyMap.load(tmp_path / "nothing") == KeyMap()
    (complaint,) = KeyMap.load(tmp_path).complaints
    assert "irectory" in complaint
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert len(KeyMap.load(path).complaints) == 1


def test_help_and_hints_show_the_keys_of_the_person() -> None:
    keymap = load('"pane.next" = "f10"\n"prompt.newline" = "ctrl+n"\n"layers.split" = ""')
    assert "  F10                            next pane" in help_text(keymap)
    assert "F6" not in help_text(keymap)
    assert hints(keymap) == "Enter send · ^N line · ! shell · / commands · F10 pane · F1 help · ^P palette"


async def test_the_keys_of_the_file_act_and_the_usual_ones_no_longer_do(agent: ScriptedAgent) -> None:
    write('layers.split = "f10"\nprompt = {newline = "ctrl+n", send = "ctrl+j"}\nrun.escape = "f11"\napp.quit = "ctrl+e"')
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        await drawn(pilot)
        assert "^N line" in screen_text(app)
        assert "[ Cancel   F11 ]" in screen_text(app)
        before = app.board.split
        await pilot.press("f2")
        assert app.board.split is before
        await pilot.press("f10")
        assert app.board.split is not before
        await pilot.press("a", "ctrl+n", "b", "enter")  # Enter: what it means in every text
        assert app.board.prompt.text == "a\nb\n"
        await pilot.press("ctrl+e", "ctrl+d")  # not empty: Textual's own meaning
        assert app.is_running
        await pilot.press("ctrl+j")
        await until(pilot, lambda: agent.calls == ["submit a\nb"])
        agent.begin("x")
        await pilot.press("escape")
        assert "cancel" not in agent.calls
        await pilot.press("f11")
        assert "cancel" in agent.calls
        agent.end()
        await pilot.press("ctrl+d")
        await drawn(pilot)
        assert app.is_running
        await pilot.press("ctrl+e")
        await until(pilot, lambda: agent.closed)


async def test_lists_honour_the_file_too(agent: ScriptedAgent) -> None:
    write('"list.down" = "ctrl+n"\n"app.palette" = "f11"')
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("f11")
        await pilot.pause()
        await until(pilot, lambda: "> Help" in screen_text(app))
        await pilot.press("down")
        await drawn(pilot)
        assert "> Help" in screen_text(app)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "> Help" not in screen_text(app))


async def test_a_wrong_file_is_told_and_the_screen_works(agent: ScriptedAgent) -> None:
    write('"pane.nxt" = "f10"\n"layers.split" = "f10"')
    app = make_app(agent)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "`pane.nxt`" in screen_text(app))
        before = app.board.split
        await pilot.press("f10")
        assert app.board.split is not before
        await send(pilot, "go")
        await until(pilot, lambda: agent.calls == ["submit go"])
