"""The `<state_snapshot>` document: a model's text comes in and is checked, parts go out; parts become a document again. Pure.

The text is data: no entity, no document type, no tag but ours is ever interpreted.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from msgspec import Struct

ROOT = "state_snapshot"
PARTS = ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan")
RECORDED = "recorded"
"""Holds what code wrote, inside a part."""
NOTE = "Recorded by agentclip itself; where it differs from the text above, this is right:"
MAX_CHARS = 400_000
"""A longer document is not parsed."""

_TAGS = "|".join((ROOT, *PARTS))
_FOREIGN_TAG = re.compile(rf"<(?!/?(?:{_TAGS})\s*>)")
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SCRATCHPAD = re.compile(r"<scratchpad\b[^>]*>.*?</scratchpad\s*>", re.DOTALL)
_OUR_TAG = re.compile(rf"</?(?:{_TAGS}|scratchpad|{RECORDED}|history|previous_snapshot)\b", re.IGNORECASE)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class UnusableSnapshotError(Exception):
    """The text is no snapshot; the message says why, for the model."""


class Snapshot(Struct, frozen=True):
    """What a model wrote, one text per part; plain text, nothing escaped."""

    overall_goal: str
    key_knowledge: str = ""
    file_system_state: str = ""
    recent_actions: str = ""
    current_plan: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """In the order of PARTS."""
        return (self.overall_goal, self.key_knowledge, self.file_system_state, self.recent_actions, self.current_plan)


def read_reply(text: str) -> Snapshot:
    """The snapshot inside a model's reply; scratchpad, fences and words around it are dropped.

    Raises:
        UnusableSnapshotError: none, cut, not well-formed, a part missing or twice, no goal.
    """
    text = _SCRATCHPAD.sub("", text)
    start, end = text.find(f"<{ROOT}>"), text.rfind(f"</{ROOT}>")
    if not text.strip():
        raise UnusableSnapshotError("the reply was empty")
    if start < 0 or end < start:
        raise UnusableSnapshotError(f"there is no whole <{ROOT}>...</{ROOT}>")
    body = _COMMENT.sub("", text[start : end + len(ROOT) + 3])
    body = _CDATA.sub(lambda found: escaped(found[1]), body)
    body = _BARE_AMPERSAND.sub("&amp;", _FOREIGN_TAG.sub("&lt;", body)).replace("]]>", "]]&gt;")
    return read(body)


def read(document: str) -> Snapshot:
    """The parts of a document, without what code recorded in it. Raises UnusableSnapshotError."""
    if len(document) > MAX_CHARS:
        raise UnusableSnapshotError("it is far too long")
    found = _Reader().read(_NOT_XML.sub("\ufffd", document))
    missing = [name for name in PARTS if name not in found]
    if missing:
        raise UnusableSnapshotError(f"<{missing[0]}> is missing")
    snapshot = Snapshot(*(found[name].strip() for name in PARTS))
    if not snapshot.overall_goal:
        raise UnusableSnapshotError("<overall_goal> is empty")
    return snapshot


class _Reader:
    """Collects the text directly inside each part; refuses any structure but ours."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._found: dict[str, list[str]] = {}
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse

    def read(self, document: str) -> dict[str, str]:
        try:
            self._parser.Parse(document, True)  # noqa: FBT003  expat takes no keywords
        except expat.ExpatError as error:
            raise UnusableSnapshotError(f"it is not well-formed XML ({error})") from error
        return {name: "".join(texts) for name, texts in self._found.items()}

    def _start(self, name: str, _: dict[str, str]) -> None:
        match self._open:
            case []:
                right = name == ROOT
            case [_]:
                right = name in PARTS and name not in self._found
                self._found.setdefault(name, [])
            case _:
                right = name == RECORDED and len(self._open) == 2
        if not right:
            raise UnusableSnapshotError(f"<{name}> stands where it must not, or twice")
        self._open.append(name)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, data: str) -> None:
        if len(self._open) == 2:
            self._found[self._open[-1]].append(data)

    def _refuse(self, *_: object) -> None:
        raise UnusableSnapshotError("a document type is not allowed")


def written(snapshot: Snapshot, recorded: dict[str, str]) -> str:
    """The document; `recorded` holds what code knows, by the part it belongs to."""
    lines = [f"<{ROOT}>"]
    for name, text in zip(PARTS, snapshot.texts, strict=True):
        lines.append(f"<{name}>")
        if escaped(text).strip():
            lines.append(escaped(text).strip())
        if recorded.get(name):
            lines += [f"<{RECORDED}>", NOTE, escaped(recorded[name].rstrip()), f"</{RECORDED}>"]
        lines.append(f"</{name}>")
    return "\n".join([*lines, f"</{ROOT}>"])


def escaped(text: str) -> str:
    """Text as XML character data."""
    return _NOT_XML.sub("\ufffd", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def defused(text: str) -> str:
    """The text with our own tags made harmless: whoever wrote them, here they are only quoted."""
    return _OUR_TAG.sub(lambda found: "&lt;" + found[0][1:], text)
