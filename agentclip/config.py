"""Settings: defaults < user file < project file < environment < flags. Each value remembers where it came from.

A setting is declared once, as a field of Settings: its key in the files, its environment variable (AGENTCLIP_ and the field's
name), its type and its bounds all come from there.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_args, get_type_hints

from agentclip import paths
from agentclip.errors import ConfigError

PREFIX = "AGENTCLIP_"
Value = str | int | float | bool | tuple[str, ...] | None


class _More(TypedDict, total=False):
    minimum: int | None
    project: bool
    """Whether a project's file may set it."""
    choices: tuple[str, ...]
    """Empty when anything goes."""
    live: bool
    """Whether the screen follows a change at once."""


_USUAL: _More = {"minimum": None, "project": True, "choices": (), "live": False}


def _setting(key: str, default: Value, doc: str, **more: Unpack[_More]) -> Any:
    return field(default=default, metadata={"key": key, "doc": doc, **_USUAL, **more})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured."""

    model: str | None = _setting("model.name", None, "Model to talk to, or replay:FILE", project=False)
    api_base: str | None = _setting("model.api_base", None, "Address of an OpenAI-compatible endpoint", project=False)
    api_key_env: str | None = _setting("model.api_key_env", None, "Variable that holds the key", project=False)
    api_key_file: str | None = _setting(
        "model.api_key_file", None, "File of mode 600 that holds the key; only the provider's process reads it", project=False
    )
    provider: str | None = _setting(
        "model.provider",
        None,
        "direct or litellm; left out, the one that fits the endpoint",
        project=False,
        choices=("direct", "litellm"),
    )
    tool_protocol: str = _setting(
        "model.tool_protocol", "native", "native, or text for a model without tool calling", choices=("native", "text")
    )
    images: bool = _setting("model.images", True, "false: the model takes text only")  # noqa: FBT003  as stream
    context_window: int = _setting("model.context_window", 0, "Tokens the model may read; 0 to find it out", minimum=0)
    prices: tuple[str, ...] = _setting(
        "model.prices", (), "US dollars per million tokens: input=0.25, output=2, cached=0.025", project=False
    )
    stream: bool = _setting("model.stream", True, "Stream replies")  # noqa: FBT003  a declaration, read by keyword below
    stall_s: int = _setting("model.stall_s", 120, "Seconds without a byte before a request is given up", minimum=1)
    max_steps: int = _setting("agent.max_steps", 0, "Model calls in one turn; 0 for no limit", minimum=0)
    max_tokens: int = _setting("agent.max_tokens", 0, "Tokens of one turn, in and out; 0 for no limit", minimum=0)
    max_cost_usd: float = _setting("agent.max_cost_usd", 0.0, "US dollars of one turn; 0 for no limit", minimum=0)
    max_time_s: int = _setting("agent.max_time_s", 0, "Seconds of one turn; 0 for no limit", minimum=0)
    snapshot_max_tokens: int = _setting(
        "snapshot.max_tokens", 150_000, "Size of a prompt above which the conversation is shortened", minimum=1000
    )
    loop_detection: bool = _setting("loop.detection", True, "Stop a model that repeats itself")  # noqa: FBT003  a declaration
    loop_model: str | None = _setting("loop.model", None, "Light model that judges progress; else the main one", project=False)
    timeout_s: int = _setting("run.timeout_s", 120, "Time limit of a command that names none", minimum=1)
    max_timeout_s: int = _setting("run.max_timeout_s", 3600, "Highest timeout_s the model may ask for", minimum=1)
    spool_limit_mb: int = _setting("run.spool_limit_mb", 256, "Output kept of one stream of one run", minimum=1)
    max_memory_mb: int = _setting("run.max_memory_mb", 0, "Address space of one process; 0 for no limit", minimum=0)
    max_processes: int = _setting(
        "run.max_processes", 0, "Processes of the user (no effect for root); 0 for no limit", minimum=0
    )
    pass_env: tuple[str, ...] = _setting("run.pass_env", (), "Withheld variables that commands may see", project=False)
    encoding: str | None = _setting("result.encoding", None, "Encoding of outputs that are not UTF-8")
    result_lines: int = _setting("result.lines", 200, "Lines of a result that the model reads", minimum=1)
    result_kb: int = _setting("result.kilobytes", 50, "Kilobytes of a result that the model reads", minimum=1)
    keep_days: int = _setting("keep.days", 30, "Days that output of commands is kept; 0 for ever", minimum=0, project=False)
    keep_total_mb: int = _setting(
        "keep.total_mb", 2048, "Output of all commands that is kept; 0 for no limit", minimum=0, project=False
    )
    theme: str = _setting("screen.theme", "auto", "Theme of the screen; auto: dark or light as the terminal is", live=True)
    notify: str = _setting(
        "screen.notify",
        "auto",
        "When the terminal has no focus and a turn ends: nothing, a bell, a notification (OSC 9 or 777), or what fits it",
        choices=("auto", "bell", "osc", "off"),
        live=True,
    )
    notify_after_s: int = _setting(
        "screen.notify_after_s", 10, "Seconds that a turn must have taken for a notification", minimum=0, live=True
    )
    sources: Mapping[str, str] = field(default_factory=dict)
    """Key to the file, variable or flag that set it; a key that is missing has its default."""


def declared() -> Iterator[dataclasses.Field[Any]]:
    """The fields that are settings, in order."""
    return (f for f in dataclasses.fields(Settings) if "key" in f.metadata)


def named(key: str) -> dataclasses.Field[Any]:
    """The setting of that key. Raises ConfigError: there is none."""
    known = {f.metadata["key"]: f for f in declared()}
    if key not in known:
        raise ConfigError(f"unknown key `{key}`", hint=_nearest(key, known))
    return known[key]


def from_text(declaration: dataclasses.Field[Any], text: str, place: str = "") -> Value:
    """The value that a text stands for, in a variable or typed; a list is separated by commas. Raises ConfigError."""
    return _checked(declaration, _parsed(declaration, text), place)


def load(environ: Mapping[str, str], cwd: Path, flags: Mapping[str, Value]) -> Settings:
    """Read all sources. `flags` holds only what was typed, by field name.

    Raises:
        ConfigError: a file, variable or flag is wrong; the message names file, line and key and says what is allowed.
    """
    values: dict[str, Value] = {}
    sources: dict[str, str] = {}
    by_key = {f.metadata["key"]: f for f in declared()}
    for path, of_project in ((paths.config_file(), False), (paths.project_config_file(cwd), True)):
        for key, value, place in _read_file(path, by_key):
            setting = by_key[key]
            if of_project and not setting.metadata["project"]:
                raise ConfigError(f"{place}: a project may not set `{key}`", hint=f"Set it in {paths.config_file()}")
            values[setting.name] = _checked(setting, value, place)
            sources[key] = str(path)
    for setting in declared():
        variable = PREFIX + setting.name.upper()
        if environ.get(variable):
            values[setting.name] = from_text(setting, environ[variable], variable)
            sources[setting.metadata["key"]] = variable
        if setting.name in flags:
            values[setting.name] = _checked(setting, flags[setting.name], _flag(setting.name))
            sources[setting.metadata["key"]] = _flag(setting.name)
    return Settings(**values, sources=sources)  # type: ignore[arg-type]  # each value was checked against its field


def _flag(name: str) -> str:
    return "--" + re.sub(r"_(s|usd)$", "", name).replace("_", "-")


def _read_file(path: Path, known: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}", hint="Mend or remove the file") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", hint="Mend the line or remove the file") from error
    for key, value in _flattened(tables):
        place = f"{path}:{_line_of(text, key)}"
        if key not in known:
            raise ConfigError(f"{place}: unknown key `{key}`", hint=_nearest(key, known))
        yield key, value, place


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean `{near[0]}`?" if near else "Known: " + ", ".join(known)


def _flattened(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _line_of(text: str, key: str) -> int:
    """1-based line where a key is set; 1 when it is written in a way that hides it."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            table = match[1].replace(" ", "") + "."
        elif (match := re.match(r"\s*([\w.\s-]+?)\s*=", line)) and key.startswith((table + match[1]).replace(" ", "")):
            return number
    return 1


def _parsed(setting: dataclasses.Field[Any], text: str) -> Value:
    """A variable's text as the setting's type, where it can be; `_checked` refuses the rest."""
    kind = _kind(setting)
    if kind is bool and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if kind is int and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind is float and re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text)
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_ALLOWED = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list of texts"}


def _kind(setting: dataclasses.Field[Any]) -> type:
    hint = get_type_hints(Settings)[setting.name]
    if hint in (str, int, float, bool):
        return hint  # type: ignore[no-any-return]  # one of the four
    return str if str in get_args(hint) and type(None) in get_args(hint) else tuple


def _checked(setting: dataclasses.Field[Any], value: Any, place: str) -> Value:
    kind, minimum = _kind(setting), setting.metadata["minimum"]
    wrong = f"{place}: " * bool(place) + f"`{setting.metadata['key']}` is {value!r}"
    if kind is tuple and isinstance(value, list | tuple):
        value = tuple(value)
    if kind is float and type(value) is int:
        value = float(value)
    right = type(value) is kind and (not isinstance(value, tuple) or all(isinstance(part, str) for part in value))
    if not right or (minimum is not None and value < minimum):
        bound = f", {minimum} or more" if minimum is not None else ""
        raise ConfigError(wrong, hint=f"Allowed: {_ALLOWED[kind]}{bound}")
    choices = setting.metadata["choices"]
    if choices and value is not None and value not in choices:
        raise ConfigError(wrong, hint=f"Allowed: {', '.join(choices)}")
    return value  # type: ignore[no-any-return]  # checked above
