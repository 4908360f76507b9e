"""The grammar of the lines that can be split: lists of pipelines of simple commands, with bash's quoting.

In: the text of a line. Out: its pipelines and commands, with the place of every word. Whatever lies outside of this
part of bash's grammar, and every syntax error, raises `UnsplittableError`; so does a parameter whose value depends on
the very shell process that expands it. Knows nothing about which commands exist or what they do.
"""

from __future__ import annotations

import re

from msgspec import Struct

from agentclip.results import Join

_KEYWORD = re.compile(r"if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|coproc|[{}!]|\[\[|\]\]|time")
"""Reserved as the first word of a command (`compgen -k`)."""

DYNAMIC = re.compile(
    r"""_ | BASH.* | COLUMNS | COMP_.* | COPROC | DIRSTACK | EPOCHREALTIME | EPOCHSECONDS | FUNCNAME | HISTCMD | LINENO
    | LINES | MAPFILE | OLDPWD | OPTARG | OPTERR | OPTIND | PIPESTATUS | PPID | RANDOM | READLINE_.* | REPLY | SECONDS
    | SHLVL | SRANDOM""",
    re.VERBOSE,
)
"""Variables that the shell itself sets anew while it runs."""

_MAX_DEPTH = 16
"""Command substitutions within each other."""

_MAX_COMMANDS = 64
"""Of one pipeline: all of them run at once."""

_STRANGE = re.compile("[\0\r\x01\x7f]")
"""NUL ends C strings, \\1 and \\x7f are bash's own marks, \\r is an ordinary character to bash but not to shfmt."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_COMMENT = r"#(?:[^\n\\]|\\(?!\n))*+(?!\\\n)"  # bash and shfmt disagree about one that ends in a backslash
_BLANK = re.compile(rf"(?:[ \t]+|\\\n)*(?:{_COMMENT})?")
_NEWLINES = re.compile(rf"(?:[ \t\n]+|\\\n|{_COMMENT})*")

_JOIN = re.compile(r"&&|\|\||;(?![;&])|\n")
_JOINS = {"&&": Join.SUCCESS, "||": Join.FAILURE}
_PIPE = re.compile(r"\|&|\|(?!\|)")
_NEGATION = re.compile(r"!(?=[ \t])")
_REDIRECT = re.compile(r"(?:([0-9]+)(?=[<>]))?(&>>|&>|<<<|<<|<>|<&|>>|>&|>\||<|>)")
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_ASSIGNMENT = re.compile(rf"({_NAME})(=|\+=|\[)")

_META = " \t\n|&;()<>"
_RUN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
_DOUBLE_RUN = re.compile(r'[^"\\$`]+')
_TILDE = re.compile(r"(?:^|(?<=[=:]))~([-+0-9])?")
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\$": "$", "\\`": "`", "\\\n": ""}
"""POSIX 2.2.3: inside double quotes a backslash only escapes these."""

_ANSI_C = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_PARAMETER = re.compile(rf"\$({_NAME})")
_BRACED = re.compile(
    rf"""\$\{{ (?: \#({_NAME}) | ({_NAME}) (?:
           :?[-+] [^'"\\`{{}}$\n]*                        # ${{x:-word}}, but no := and :? which assign and exit
         | (?: \#\#? | %%? | /[/\#%]? ) [^'"\\`{{}}$\n]+  # ${{x#pattern}}, ${{x/pattern/text}}
         | \^\^? | ,,?                                    # ${{x^^}}
         | :{_NUMBER} (?: :{_NUMBER} )? )? ) \}}          # ${{x:2:3}}, without arithmetic""",
    re.VERBOSE,
)
_ARITHMETIC = re.compile(rf"\$\(\([ \t]*{_NUMBER}(?:[ \t]*[-+*][ \t]*{_NUMBER})*[ \t]*\)\)")
"""Arithmetic that cannot fail or assign: an error in it would end the line."""

_SPECIAL = frozenset("0123456789?!#*@$-{[")
"""After a dollar: parameters of the very shell, or expansions that the patterns above do not know."""


class UnsplittableError(Exception):
    """The text is no list of simple commands, or splitting it could be observed."""


class Word(Struct, frozen=True):
    """One word as it stands in the source."""

    start: int
    end: int
    value: str | None
    """The word with quotes removed; None when bash must expand it."""


class Assignment(Struct, frozen=True):
    """`NAME=value` in front of a command's words."""

    name: str
    value: str | None
    """With quotes removed; None when bash must expand it."""


class Redirection(Struct, frozen=True):
    """An operator and the word after it."""

    fd: int | None
    operator: str
    target: Word


class SimpleCommand(Struct, frozen=True):
    """Assignments, words and redirections, at least one of them."""

    start: int
    end: int
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]
    pipe: str
    """The operator that follows: `|`, `|&` or nothing."""


class CommandPipeline(Struct, frozen=True):
    """Commands joined by `|` or `|&`."""

    join: Join
    negated: bool
    commands: tuple[SimpleCommand, ...]


def scan(source: str) -> tuple[CommandPipeline, ...]:
    """The pipelines of a line, none for a blank one. Raises UnsplittableError."""
    if _STRANGE.search(source):
        raise UnsplittableError
    return _Scanner(source).pipelines("")


class _Scanner:
    """A recursive descent over one text; `at` is the place of the next character."""

    def __init__(self, source: str, depth: int = 0) -> None:
        self.source = source
        self.at = 0
        self.depth = depth
        """0 for the line itself, one more inside every command substitution."""

    def pipelines(self, closing: str) -> tuple[CommandPipeline, ...]:
        """Everything up to `closing`, which is stepped over; "" is the end of the text."""
        found: list[CommandPipeline] = []
        join = Join.ALWAYS
        self.skip(_NEWLINES)
        while self.source[self.at : self.at + 1] != closing:
            found.append(self.pipeline(join))
            operator = self.skip(_JOIN)
            join = _JOINS.get(operator, Join.ALWAYS)
            self.skip(_NEWLINES)
        if join is not Join.ALWAYS:
            raise UnsplittableError
        self.at += len(closing)
        return tuple(found)

    def pipeline(self, join: Join) -> CommandPipeline:
        negated = bool(self.skip(_NEGATION))
        self.skip(_BLANK)
        commands = [self.command()]
        while commands[-1].pipe:
            self.skip(_NEWLINES)
            commands.append(self.command())
        if len(commands) > _MAX_COMMANDS:
            raise UnsplittableError
        return CommandPipeline(join, negated, tuple(commands))

    def command(self) -> SimpleCommand:
        start = end = self.at
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while self.at < len(self.source):
            if match := _REDIRECT.match(self.source, self.at):
                redirections.append(self.redirection(match))
            elif self.source[self.at] in _META:
                break
            elif not words and (match := _ASSIGNMENT.match(self.source, self.at)):
                assignments.append(self.assignment(match))
            else:
                words.append(self.word() if words else self.first_word())
            end = self.at
            self.skip(_BLANK)
        if start == end:
            raise UnsplittableError
        return SimpleCommand(start, end, tuple(assignments), tuple(words), tuple(redirections), self.skip(_PIPE))

    def assignment(self, match: re.Match[str]) -> Assignment:
        # `a+=b` and `a[0]=b` change what the shell holds, and a subscript may hold blanks and operators.
        if match[2] != "=":
            raise UnsplittableError
        value = self.word().value
        return Assignment(match[1], None if value is None else value[len(match[0]) :])

    def first_word(self) -> Word:
        word = self.word()
        # A top-level `time` may be a command of ours: the caller decides.
        if word.value and _KEYWORD.fullmatch(word.value) and (word.value != "time" or self.depth):
            raise UnsplittableError
        return word

    def redirection(self, match: re.Match[str]) -> Redirection:
        fd, operator = match[1], match[2]
        if operator == "<<" or len(fd or "") > 2:
            raise UnsplittableError
        self.at = match.end()
        self.skip(_BLANK)
        if operator not in {">&", "<&"} and _REDIRECT.match(self.source, self.at):  # in `>1>x` the 1 is a descriptor
            raise UnsplittableError
        target = self.word()
        copies = target.value is not None and _DESCRIPTOR.fullmatch(target.value) is not None
        # bash shall say what is wrong with `<&word` and `2>&word`, and whether `&>2` is a file.
        if operator in {"&>", "&>>"} if copies else operator == "<&" or (operator == ">&" and fd is not None):
            raise UnsplittableError
        return Redirection(int(fd) if fd else None, operator, target)

    def word(self) -> Word:
        source, start = self.source, self.at
        parts: list[str | None] = []
        brace = False
        while self.at < len(source) and (character := source[self.at]) not in _META:
            if quoting := _QUOTING.get(character):
                parts.append(quoting(self))
            else:
                if character == "#" and (self.at == start or self.depth):  # shfmt sees a comment in `$("a"#b)`
                    raise UnsplittableError
                run = self.skip(_RUN)
                brace = brace or "{" in run
                parts.append(None if self.expands(run, start) else run)
        raw = source[start : self.at]
        if not raw or (raw[0] == "{" and source[self.at : self.at + 1] in {"<", ">"}):
            raise UnsplittableError
        if brace and ("," in raw or ".." in raw):
            return Word(start, self.at, None)
        return Word(start, self.at, _joined(parts))

    def expands(self, run: str, start: int) -> bool:
        """Whether the unquoted characters just read hold a glob or a tilde; `start` is where their word begins."""
        if tilde := _TILDE.search(run):
            if tilde[1]:  # `~-` and the like depend on the shell's own directories
                raise UnsplittableError
            return True
        if "[" in run:
            alone = run == "[" and self.at - start == 1 and self.source[self.at : self.at + 1] in {*_META, ""}
            return not alone
        return "*" in run or "?" in run

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Step over what matches here and return it, "" when nothing does."""
        match = pattern.match(self.source, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def single_quoted(self) -> str:
        start = self.at + 1
        end = self.source.find("'", start)
        if end < 0:
            raise UnsplittableError
        self.at = end + 1
        return self.source[start:end]

    def escaped(self) -> str:
        character = self.source[self.at + 1 : self.at + 2]
        # A continuation glued to a word may join an operator, a name or a keyword: too odd to be worth knowing.
        if character in {"", "\n"}:
            raise UnsplittableError
        self.at += 2
        return character

    def double_quoted(self) -> str | None:
        self.at += 1
        parts: list[str | None] = []
        while (character := self.source[self.at : self.at + 1]) != '"':
            match character:
                case "":
                    raise UnsplittableError
                case "\\":
                    pair = self.source[self.at : self.at + 2]
                    parts.append(_ESCAPES.get(pair, pair))
                    self.at += 2
                case "$":
                    parts.append(self.dollar(quoted=True))
                case "`":
                    parts.append(self.backquoted(quoted=True))
                case _:
                    parts.append(self.skip(_DOUBLE_RUN))
        self.at += 1
        return _joined(parts)

    def dollar(self, *, quoted: bool = False) -> str | None:
        following = self.source[self.at + 1 : self.at + 3]
        if name := self.parameter():
            if DYNAMIC.fullmatch(name) or self.source.startswith("\\\n", self.at):
                raise UnsplittableError
            return None
        if following[:1] == "(":
            self.substitution()
            return None
        if not quoted and following[:1] == "'":
            if not self.skip(_ANSI_C):
                raise UnsplittableError
            return None
        if not quoted and following[:1] == '"':
            self.at += 1
            self.double_quoted()
            return None
        if following == "\\\n" or following[:1] in _SPECIAL:
            raise UnsplittableError
        self.at += 1
        return "$"

    def parameter(self) -> str:
        """Step over `$NAME` or a harmless `${NAME...}` and return the name, "" when there is none here."""
        match = _PARAMETER.match(self.source, self.at) or _BRACED.match(self.source, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return next(name for name in match.groups() if name)

    def substitution(self) -> None:
        if self.source.startswith("$((", self.at):
            if not self.skip(_ARITHMETIC):
                raise UnsplittableError
            return
        self.at += 2
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UnsplittableError
        self.pipelines(")")
        self.depth -= 1

    def backquoted(self, *, quoted: bool = False) -> str | None:
        end = self.source.find("`", self.at + 1)
        text = self.source[self.at + 1 : end]
        if end < 0 or "\\" in text or (quoted and '"' in text):
            raise UnsplittableError
        _Scanner(text, self.depth + 1).pipelines("")
        self.at = end + 1
        return None


def _joined(parts: list[str | None]) -> str | None:
    """The text of a word's parts, None when one of them must be expanded."""
    literal = [part for part in parts if part is not None]
    return "".join(literal) if len(literal) == len(parts) else None


_QUOTING = {
    "'": _Scanner.single_quoted,
    '"': _Scanner.double_quoted,
    "\\": _Scanner.escaped,
    "$": _Scanner.dollar,
    "`": _Scanner.backquoted,
}
