"""`agentclip keymap`: all keys and words of the screen, for people, for `keymap.toml` and for docs/keys.md."""

from __future__ import annotations

import click

from agentclip import paths
from agentclip.agent.words import WORDS as AGENT_WORDS
from agentclip.cli.output import say
from agentclip.ui.actions import ACTIONS, Action, Place
from agentclip.ui.help_screen import OTHER, SIGNS
from agentclip.ui.keymap import IMPOSSIBLE, UNWISE, KeyMap, key_names

HEAD = """\
# Keys

Made by `agentclip keymap --markdown` from `agentclip/ui/actions.py`; a test compares.

F1 shows the same on the screen, beginning with what works where the focus is. Ctrl+P or F9 lists everything to choose from,
with your own keys. `agentclip keymap` prints the keys as they are for you.
"""
OWN_KEYS = """\
## Your own keys

`keymap.toml` beside `config.toml` (in `$XDG_CONFIG_HOME/agentclip/`, or `~/.config/agentclip/`) gives an action other keys by
its id:

```toml
"pane.next" = "f10"
"prompt.newline" = ["ctrl+n", "alt+enter"]
"layers.split" = ""            # no key
```

Keys are written as in the tables: `F10`, `Ctrl+N`, `Shift+PgUp`, a single character in a pane. What is wrong in the file (an
unknown id, no key, a key that already means something there) is said in one line when the screen starts, and left out.
`agentclip keymap --toml > FILE` writes a file with all of them to begin with.
"""
BAR = "\\|"
"""How a table of Markdown has it."""


@click.command()
@click.option("--markdown", is_flag=True, help="The page docs/keys.md.")
@click.option("--toml", is_flag=True, help="A keymap.toml with all keys as they are, to change.")
def command(markdown: bool, toml: bool) -> int:
    """List all keys and words of the screen, as keymap.toml has them."""
    if markdown:
        say(page().removesuffix("\n"))
        return 0
    keymap = KeyMap.load(paths.keymap_file())
    for line in template(keymap) if toml else listing(keymap):
        say(line)
    for complaint in keymap.complaints:
        click.echo(f"agentclip: {complaint}", err=True)
    return 0


def page() -> str:
    """docs/keys.md."""
    tables = (f"## {place}\n\n{_table(place)}" for place in Place if any(action.place is place for action in ACTIONS))
    return "\n".join([HEAD, *tables, _words(), _signs(), OWN_KEYS + _unbound()])


def listing(keymap: KeyMap) -> list[str]:
    """One line for each action: id, keys, word, what it does."""
    return [f"{each.id:<18} {keymap.named(each.id):<30} {each.word:<10} {each.title}".rstrip() for each in ACTIONS]


def template(keymap: KeyMap) -> list[str]:
    """Lines of a `keymap.toml` that changes nothing."""
    lines: list[str] = []
    for place in Place:
        actions = [each for each in ACTIONS if each.place is place]
        lines += [f"# {place}", *(f'"{each.id}" = "{keymap.keys(each)}"  # {each.title}' for each in actions), ""]
    return lines[:-1]


def _table(place: Place) -> str:
    rows = [action for action in ACTIONS if action.place is place]
    return "| key | what it does | word | id |\n|---|---|---|---|\n" + "".join(map(_row, rows))


def _row(action: Action) -> str:
    keys = ", ".join(f"`{key_names(key)}`" for key in action.keys.split(",") if key)
    word = f"`{action.word} {action.operands}`".replace(" `", "`") if action.word else ""
    return f"| {keys} | {action.title} | {word} | `{action.id}` |\n"


def _words() -> str:
    rows = [(f"{word} {operands}".strip(), what) for word, operands, what in AGENT_WORDS] + list(OTHER)
    return "## More words\n\n| word | what it does |\n|---|---|\n" + "".join(
        f"| `{word.replace('|', BAR)}` | {what} |\n" for word, what in rows
    )


def _signs() -> str:
    return "## Signs in Layer 1\n\n| sign | meaning |\n|---|---|\n" + "".join(
        f"| `{sign}` | {what} |\n" for sign, what in SIGNS
    )


def _unbound() -> str:
    refused = ", ".join(f"`{key_names(key)}` ({why})" for key, why in IMPOSSIBLE.items())
    unwise = ", ".join(f"`{key_names(key)}` ({why})" for key, why in UNWISE.items())
    return f"\n- Refused: {refused}.\n- Taken, with a warning: {unwise}.\n"
