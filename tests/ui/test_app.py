"""The screen as a person uses it: keys, sizes, the Cancel button, queue, themes."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import partial
from pathlib import Path

import pytest
from textual import events

from agentclip.events import AssistantReplied, Notice, TurnEnd, TurnStarted
from agentclip.messages import AssistantMessage, UserMessage
from agentclip.ui.app import ChatApp
from agentclip.ui.help_screen import HelpScreen
from agentclip.ui.layout import PaneName
from tests.ui.screens import drawn, make_app, pane_rows, screen_rows, screen_text, send, until
from tests.ui.scripted import ScriptedAgent

WIDE, MIDDLE, NARROW = (140, 40), (100, 30), (80, 24)


async def test_a_turn_appears_in_chat_and_in_both_layers(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("fix it")
        agent.say("I will **look**.")
        agent.run("grep foo | head", b"one\n\x1b[31mtwo\x1b[0m\n", status=1)
        agent.end()
        await until(pilot, lambda: "exit:1" in screen_text(app))
        text = screen_text(app)
        for part in (
            "> fix it",
            "I will look.",
            "grep foo | head",
            "exit 1 1.2s",
            "Run 1",
            "2 lines",
            "stages grep 0 -> head 1",
        ):
            assert part in text
        assert pane_rows(app.board.raw) == ["= one", "= two"]
        assert pane_rows(app.board.model)[-1] == "  [exit:1 | 1.2s]"


@pytest.mark.parametrize("size", [WIDE, MIDDLE, NARROW, (60, 20), (30, 8), (29, 20), (20, 5), (1, 1)])
async def test_any_size_is_drawn_and_every_pane_can_be_reached(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    app = make_app(agent)
    async with app.run_test(size=size) as pilot:
        agent.run("seq 3", b"1\n2\n3\n")
        await drawn(pilot)
        too_small = size[0] < 30 or size[1] < 8
        assert app.board.arrangement.too_small == too_small
        if too_small:
            assert "terminal too small"[: size[0] - 1] in screen_text(app)
            return
        seen = set()
        for _ in range(4):
            await pilot.press("f6")
            await drawn(pilot)
            seen |= set(app.board.arrangement.panes)
        assert seen == set(PaneName)


async def test_growing_and_shrinking_the_terminal_never_loses_the_prompt(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"kept")
        for size in ((20, 5), MIDDLE, NARROW, WIDE, (20, 5), WIDE):
            await pilot.resize_terminal(*size)
            await drawn(pilot)
        await pilot.press("!")
        await drawn(pilot)
        assert app.board.prompt.text == "kept!"
        assert "kept!" in screen_text(app)


async def test_enter_sends_a_bang_runs_and_a_slash_commands(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"do it", "enter")
        for text in ("!ls -l", "/nope", "/tmp/x is full"):
            await send(pilot, text)
        await drawn(pilot)
        assert agent.calls == ["submit do it", "shell ls -l", "submit /tmp/x is full"]
        assert "no command /nope" in screen_text(app)


async def test_slash_words_reach_the_agent(agent: ScriptedAgent) -> None:
    agent.snapshot = "<goal>[red]mend</goal>"
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for text in ("/compress", "/snapshot", "/loops off"):
            await send(pilot, text)
        await drawn(pilot)
        assert agent.calls == ["compress"]
        assert "[red]mend" in screen_text(app)
        assert "loop detection is off" in screen_text(app)
        assert agent.loop_detection is False


@pytest.mark.parametrize("press", ["f8", "escape", "tab"])
async def test_every_way_to_cancel_goes_up_the_ladder(agent: ScriptedAgent, press: str) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        agent.start("sleep 100")
        await until(pilot, lambda: "[ Cancel   Esc ]" in screen_text(app))
        await pilot.press(*([press, "enter"] if press == "tab" else [press]))
        await until(pilot, lambda: "[ Stopping Esc ]" in screen_text(app))
        assert "stopping 00:0" in screen_text(app)
        await pilot.press("enter" if press == "tab" else press)
        await until(pilot, lambda: "[ Killing…     ]" in screen_text(app))
        assert agent.calls == ["cancel", "cancel"]
        agent.end(TurnEnd.CANCELLED, "cancelled")
        await until(pilot, lambda: " idle " in screen_text(app))


async def test_the_cancel_button_answers_to_the_mouse(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=NARROW) as pilot:
        agent.begin("x")
        await drawn(pilot)
        await pilot.click("#cancel", offset=(5, 0))
        assert agent.calls == ["cancel"]


async def test_control_c_does_the_first_thing_that_is_possible(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"text")
        agent.begin("x")
        await drawn(pilot)
        await pilot.press("ctrl+c")
        assert agent.calls == ["cancel"]
        assert app.board.prompt.text == "text"
        agent.end(TurnEnd.CANCELLED)
        await pilot.press("ctrl+c")
        assert app.board.prompt.text == ""
        await pilot.press("ctrl+c")
        await drawn(pilot)
        assert "Ctrl+C again to quit" in screen_text(app)
        assert app.is_running
        await pilot.press("up")
        assert app.board.prompt.text == "text"
        await pilot.press("ctrl+c", "ctrl+c", "ctrl+c")
        await pilot.pause()
    assert app.return_value == 0
    assert agent.closed


async def test_control_c_copies_what_is_selected_in_the_prompt(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"text", "shift+home", "ctrl+c")
        assert app.clipboard == "text"
        assert app.board.prompt.text == "text"


async def test_escape_closes_the_help_and_cancels_nothing(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await pilot.press("f1")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, HelpScreen)
        assert agent.calls == []


async def test_control_d_quits_only_on_an_empty_prompt(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"ab", "home", "ctrl+d")
        assert app.board.prompt.text == "b"
        await pilot.press("ctrl+d")
        assert app.is_running
        await pilot.press("ctrl+d")
        await pilot.pause()
    assert (app.return_value, agent.closed) == (0, True)


async def test_what_waits_is_shown_and_up_takes_the_last_one_back(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        agent.queue = ("run [lint]", "and test")
        app.plan_frame()
        await drawn(pilot)
        assert '2 queued: "run [lint]" · "and test"' in screen_text(app)
        await pilot.press("up")
        assert app.board.prompt.text == "and test"
        assert list(agent.queue) == ["run [lint]"]


async def test_choosing_a_run_pins_both_panes_until_the_newest_is_chosen_again(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("first", b"aaa\n")
        agent.run("second", b"bbb\n")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= bbb"])
        await pilot.press("alt+up", "alt+up")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= aaa"])
        assert pane_rows(app.board.model)[0] == "  aaa"
        assert "pinned" in screen_text(app)
        agent.run("third", b"ccc\n")
        await drawn(pilot)
        assert pane_rows(app.board.raw) == ["= aaa"]
        await pilot.press("alt+down", "alt+down", "alt+down")
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= ccc"])
        assert "pinned" not in screen_text(app)


async def test_a_click_on_a_run_pins_it_and_another_one_expands_it(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("first", b"aaa\n")
        agent.run("second", b"bbb\n")
        await drawn(pilot)
        await pilot.click("#chat", offset=(10, 1))
        await until(pilot, lambda: pane_rows(app.board.raw) == ["= aaa"])
        await pilot.click("#chat", offset=(10, 1))
        await until(pilot, lambda: "  │ aaa" in "\n".join(pane_rows(app.board.chat)))


async def test_a_line_jumps_to_its_place_in_the_other_layer(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("seq", b"".join(b"%d\n" % number for number in range(500)))
        await until(pilot, lambda: app.board.model.total_rows() > 500)
        app.board.raw.focus()
        app.board.raw.go_to(300)
        await pilot.press("g")
        await drawn(pilot)
        assert "  300" in pane_rows(app.board.model)
        app.board.model.focus()
        app.board.model.go_to(100)
        await pilot.click("#model", offset=(5, 1))
        await pilot.press("enter")
        await drawn(pilot)
        assert "= 100" in pane_rows(app.board.raw)


@pytest.mark.parametrize("size", [MIDDLE, NARROW])
async def test_where_panes_take_turns_a_jump_takes_the_focus_along(agent: ScriptedAgent, size: tuple[int, int]) -> None:
    app = make_app(agent)
    async with app.run_test(size=size) as pilot:
        agent.run("seq", b"".join(b"%d\n" % number for number in range(500)))
        await pilot.press("d", "f6")
        app.board.raw.go_to_line(300)
        for pane in (app.board.model, app.board.raw, app.board.model):
            await pilot.press("enter")
            await until(pilot, partial(pane.__getattribute__, "has_focus"))
            await drawn(pilot)
            assert any(row.endswith(" 300") for row in pane_rows(pane)), pane_rows(pane)
        await pilot.press("g", "e")
        assert app.board.prompt.text == "d"
        assert agent.calls == []


@pytest.mark.parametrize("name", list(PaneName))
async def test_another_size_keeps_the_pane_that_has_the_focus_in_view(agent: ScriptedAgent, name: PaneName) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.panes[name].focus()
        for size in (MIDDLE, NARROW, MIDDLE, NARROW, WIDE):
            await pilot.resize_terminal(*size)
            await drawn(pilot)
            assert app.focused is app.board.panes[name]
            assert app.board.panes[name].display


async def test_a_pane_that_goes_out_of_view_hands_the_focus_to_one_in_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.model.focus()
        await pilot.press("f2")
        await until(pilot, lambda: app.focused is app.board.chat)
        assert app.board.arrangement.panes == {PaneName.CHAT, PaneName.RAW}


async def test_a_jump_there_and_back_is_at_the_same_line(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("seq", b"".join(b"%d\n" % number for number in range(1000)))
        raw, model = app.board.raw, app.board.model
        await until(pilot, lambda: model.total_rows() > 1000)
        model.focus()
        model.go_to(40)
        await drawn(pilot)
        y = next(y for y in range(model.view_height) if model.strip_at(model.first_row + y).text == "  50")
        await pilot.click("#model", offset=(5, 1 + y))
        for _ in range(3):
            model.focus()
            await pilot.press("g")
            await drawn(pilot)
            raw.focus()
            await pilot.press("c")
            assert app.clipboard == "50"
            await pilot.press("g")
            await drawn(pilot)
            assert model.pointed_text()[0] == "50"


async def test_maximise_and_split_change_what_is_in_view(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("f12")
        assert app.board.arrangement.panes == {PaneName.CHAT}
        await pilot.press("f12", "f2")
        assert app.board.arrangement.panes == {PaneName.CHAT, PaneName.RAW}
        await pilot.press("f2", "f2")
        assert app.board.arrangement.panes == {PaneName.CHAT}
        await pilot.press("f2")
        assert app.board.arrangement.panes == set(PaneName)


async def test_a_theme_is_changed_live_and_an_unknown_one_lists_them(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.say("text")
        await drawn(pilot)
        await send(pilot, "/theme light")
        await drawn(pilot)
        assert app.theme == "light"
        assert not app.current_theme.dark
        await send(pilot, "/theme nope")
        await drawn(pilot)
        assert "no theme nope; themes: auto, colour-blind, dark" in screen_text(app)


async def test_a_broken_theme_or_an_unknown_name_is_a_message(agent: ScriptedAgent) -> None:
    app = make_app(agent, theme="solar[ized]")
    async with app.run_test(size=WIDE) as pilot:
        await drawn(pilot)
        assert "no theme solar[ized]; there are auto, colour-blind, dark" in screen_text(app)


async def test_without_a_model_the_first_screen_says_what_was_looked_for(agent: ScriptedAgent) -> None:
    app = make_app(agent, first_screen=("No model.", "Looked for: [OPENAI_API_KEY]"))
    async with app.run_test(size=NARROW) as pilot:
        await drawn(pilot)
        assert "Looked for: [OPENAI_API_KEY]" in screen_text(app)


async def test_foreign_text_is_shown_everywhere_and_acts_nowhere(tmp_path: Path) -> None:
    evil = "[red]x[/] [@click=app.exit]\x1b]52;c;aGk=\x07\x1b[?1049l\x9b2J"
    agent = ScriptedAgent(tmp_path, title=evil)
    agent.model_name = evil
    app = make_app(agent, sandbox_label=evil)
    async with app.run_test(size=(400, 40), notifications=True) as pilot:
        agent.begin(evil)
        agent.say(evil)
        agent.queue = (evil,)
        agent.publish(Notice(evil))
        run = agent.start(evil)
        run.write(evil.encode("utf-8", "surrogateescape") + b"\n")
        run.finish()
        agent.end(TurnEnd.FAILED, evil)
        app.plan_frame()
        app.notify(evil, title=evil, markup=False)
        await send(pilot, "![/]")
        await drawn(pilot)
        text = screen_text(app)
        assert text.count("[red]x[/] [@click=app.exit]␛]52;c;aGk=␇␛[?1049l\\x9b2J") >= 8
        assert [sign for sign in text if (ord(sign) < 0x20 and sign != "\n") or 0x7F <= ord(sign) < 0xA0] == []
        assert agent.calls == ["shell [/]"]


async def test_a_resumed_session_of_ten_thousand_messages_is_there_at_once(tmp_path: Path) -> None:
    history = [
        event
        for number in range(5000)
        for event in (
            TurnStarted(UserMessage(f"ask {number}")),
            AssistantReplied(AssistantMessage(f"- answer\n- **{number}**")),
        )
    ]
    app = make_app(ScriptedAgent(tmp_path, history))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "4999" in screen_text(app), timeout_s=10)
        await pilot.press("up")
        assert app.board.prompt.text == "ask 4999"
        app.board.chat.action_scroll_home()
        await drawn(pilot)
        assert pane_rows(app.board.chat)[0] == "> ask 0"
        assert len(app.query("*")) < 40


async def test_wide_characters_never_move_a_border(agent: ScriptedAgent) -> None:
    text = "日本語 한국어 e\u0301 " + "中" * 300
    app = make_app(agent)
    async with app.run_test(size=(41, 24)) as pilot:
        agent.begin(text)
        agent.say(text)
        agent.run("echo", text.encode() + b"\n")
        await drawn(pilot)
        for _ in range(4):
            await pilot.press("f6")
            await drawn(pilot)
            screen_rows(app)  # asserts that every row is exactly as wide as the screen
        await pilot.press(*"日本語", "left", "backspace")
        assert app.board.prompt.text == "日語"


async def test_a_paste_is_folded_shown_as_a_token_and_sent_whole(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    pasted = "\n".join(f"line {number} 中文" for number in range(15_000))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"see ")
        app.board.prompt.post_message(events.Paste(pasted))
        await pilot.pause()
        assert app.board.prompt.text.startswith("see [paste 1: 15,000 lines")
        await pilot.press("enter")
        await drawn(pilot)
    assert agent.calls == [f"submit see {pasted}"]


async def test_a_paste_that_comes_in_several_bursts_is_one_token(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    lines = [f"line {number}" for number in range(100)]
    async with app.run_test(size=WIDE) as pilot:
        for part in ("\n".join(lines[:60]) + "\n", "\n".join(lines[60:98]) + "\n", "\n".join(lines[98:])):
            app.board.prompt.post_message(events.Paste(part))
        await pilot.pause()
        assert app.board.prompt.text == "[paste 1: 100 lines, 789 characters]"
        await pilot.press("enter")
    assert agent.calls == ["submit " + "\n".join(lines)]


async def test_a_paste_cannot_bring_control_characters_into_the_prompt(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        app.board.prompt.post_message(events.Paste("a\x1b[2J\r\nb\x9b"))
        await pilot.pause()
        assert app.board.prompt.text == "a␛[2J\nb\\x9b"


async def test_no_colour_leaves_no_colour(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.run("x", b"\x1b[31mred\x1b[0m\n", status=1)
        await drawn(pilot)
        strips = app.screen._compositor.render_strips(app.size)  # noqa: SLF001  no public way to read the screen
        assert not [style for strip in strips for _, style, _ in strip if style and (style.color or style.bgcolor)]
        assert "exit 1" in screen_text(app)


async def test_an_idle_screen_has_no_timer_that_runs(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        agent.begin("x")
        await until(pilot, lambda: " thinking " in screen_text(app))
        agent.end()
        await until(pilot, lambda: " idle " in screen_text(app))
        nodes = [app, *app.query("*"), app.screen]
        running = [
            timer
            for node in nodes
            for timer in node._timers  # noqa: SLF001  no public list of timers
            if timer._active.is_set() and timer._repeat != 0 and not timer._task.done()  # noqa: SLF001  same
        ]
        assert [timer.name for timer in running] == []


async def test_e_expands_all_runs_and_collapses_them_again(agent: ScriptedAgent) -> None:
    app = make_app(agent)
    async with app.run_test(size=WIDE) as pilot:
        for number in range(5):
            agent.run(f"echo {number}", b"output-%d\n" % number)
        await drawn(pilot)
        chat = app.board.chat
        chat.focus()
        await pilot.press("e")
        await drawn(pilot)
        assert [row for row in pane_rows(chat) if "output-" in row] == [f"  │ output-{number}" for number in range(5)]
        await pilot.press("e")
        await drawn(pilot)
        assert not any("output-" in row for row in pane_rows(chat))


def test_what_is_joined_to_one_app_shares_no_private_name() -> None:
    owners: dict[str, set[str]] = {}
    for part in ChatApp.__mro__:
        if part.__module__.startswith("agentclip."):
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
            for function in (each for each in ast.walk(body) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)):
                kept = [each for each in ast.walk(function) if isinstance(each, ast.Attribute) and function.name == "__init__"]
                written = [each.attr for each in kept if isinstance(each.ctx, ast.Store)]
                for name in (function.name, *written):
                    owners.setdefault(name, set()).add(part.__name__)
    assert len(owners) > 100
    assert {name: parts for name, parts in owners.items() if len(parts) > 1 and re.match("_[^_]", name)} == {}
