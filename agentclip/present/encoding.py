"""Which encoding a program wrote in, and whether it wrote text at all.

In: the bytes that would be sent, and the encoding that was declared for outputs that are not UTF-8. Out: a Verdict.
Nothing is read from the environment: `declared_by` turns the caller's variables into a declaration.
"""

from __future__ import annotations

import codecs
import locale
import re
import string
from collections.abc import Mapping

from msgspec import Struct

from agentclip.present.ansi import control_share
from agentclip.present.binary import has_clear_magic

UTF8 = "utf-8"
MAX_CONTROL_SHARE = 0.10
MAX_STRAY_SHARE = 0.05
FEW_STRAY_BYTES = 4
"""So few bytes are too little to tell an encoding by, and too little to call a text binary."""

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
)
# Halves of a surrogate pair and NUL as two bytes: no UTF-8, but written by programs that think they write it (Java, for one).
_ALMOST_UTF8 = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]|\xc0\x80")
# What people's files and programs are really in, for the detector to choose from: with all 80 code pages it takes two
# Chinese characters for Thai, and Russian for the Macintosh's. Code pages of other scripts than Latin only count when most
# letters are beyond ASCII, as in the languages that they are for.
_EAST_ASIAN = ("gb18030", "big5", "cp932", "euc-jp", "cp949")
_LATIN = ("windows-1252", "windows-1250")
_OTHER_SCRIPTS = ("windows-1251", "koi8-r", "windows-1253", "windows-1255", "windows-1256")
_OTHER_SCRIPT_SHARE = 0.35
_NOT_ASCII = bytes(range(0x80, 0x100))
_ASCII_LETTERS = string.ascii_letters.encode()


class Verdict(Struct, frozen=True):
    """How to read a stream."""

    codec: str | None
    """Python's name of the encoding; None when the stream is binary."""
    label: str = ""
    """The name for the note, which iconv knows too; empty for UTF-8."""
    guessed: bool = False
    wide: bool = False
    """A line end is more than one byte."""


BINARY = Verdict(None)
TEXT = Verdict(UTF8)


def judge(sample: bytes, *, whole: bool, declared: str | None = None) -> Verdict:
    """Decide how to read bytes; `whole` says that the sample was not cut off in the middle of a character."""
    verdict = _by_mark(sample)
    if verdict is None:
        if b"\0" in sample:
            verdict = BINARY
        elif decode(sample, UTF8, whole=whole) is not None:
            verdict = TEXT
        else:
            verdict = _not_utf8(sample, whole=whole, declared=declared)
    if verdict.codec is None:
        return BINARY
    text = decode(sample, verdict.codec, whole=whole, errors="replace") or ""
    return BINARY if control_share(text) > MAX_CONTROL_SHARE else verdict


def decode(data: bytes, codec: str, *, whole: bool, errors: str = "strict") -> str | None:
    """Decode bytes, a cut character at the end left off unless they are whole; None when they do not decode."""
    try:
        return codecs.getincrementaldecoder(codec)(errors).decode(data, final=whole)
    except UnicodeError:
        return None


def iconv_name(sample: bytes) -> str:
    """The encoding that iconv should try on bytes which are not UTF-8: latin1, in which every byte means something, at worst.

    Empty for UTF-8 with a few broken places, which no other encoding would mend.
    """
    if _is_almost_utf8(sample, whole=False) or _is_broken_utf8(sample, whole=False)[1]:
        return ""
    few = _beyond_ascii(sample) < FEW_STRAY_BYTES
    return "latin1" if few else _detect(sample, whole=False).label or "latin1"


def declared_by(environment: Mapping[str, str]) -> str | None:
    """The encoding that a person's locale declares (LC_ALL, LC_CTYPE, LANG); None when it is UTF-8, ASCII or unknown."""
    # PEP 538: where the locale is C or not installed, Python itself sets LC_CTYPE to one of these; LANG is the person's.
    set_by_python = environment.get("LC_CTYPE") in _COERCED and not environment.get("LC_ALL")
    keys = ("LANG",) if set_by_python else ("LC_ALL", "LC_CTYPE", "LANG")
    name = next((environment[key] for key in keys if environment.get(key)), "")
    encoding = locale.normalize(name).partition(".")[2].partition("@")[0]
    if not is_known(encoding):
        return None
    codec = codecs.lookup(encoding).name
    # `en_US` stands for ISO 8859-1 by an old rule that says nothing about today's files.
    unsaid = codec == "iso8859-1" and "." not in name
    return None if unsaid or codec in {UTF8, "ascii"} else {"gb2312": "gb18030"}.get(codec, codec)


def is_known(encoding: str) -> bool:
    """Whether it names an encoding of text in which a line end and a backslash are the bytes that they are in ASCII."""
    try:
        return b"a\\b\n".decode(encoding) == "a\\b\n"
    except (LookupError, ValueError):
        return False


def _by_mark(sample: bytes) -> Verdict | None:
    """UTF-16 or UTF-32 by its byte order mark; None without one."""
    for mark, codec, label in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return Verdict(codec, label, wide=True) if decode(sample, codec, whole=False) is not None else BINARY
    return None


def _not_utf8(sample: bytes, *, whole: bool, declared: str | None) -> Verdict:
    """The verdict on bytes that do not decode as UTF-8."""
    if _is_almost_utf8(sample, whole=whole):
        return TEXT
    stray, broken = _is_broken_utf8(sample, whole=whole)
    few = stray <= FEW_STRAY_BYTES or stray < MAX_STRAY_SHARE * len(sample)
    if few and broken:
        return TEXT
    if has_clear_magic(sample):
        return TEXT if stray < MAX_STRAY_SHARE * len(sample) else BINARY
    if declared and is_known(declared) and decode(sample, declared, whole=whole) is not None:
        return Verdict(declared, declared.lower().replace("_", "-"))
    if _beyond_ascii(sample) >= FEW_STRAY_BYTES and (guess := _detect(sample, whole=whole)).codec:
        return guess
    return TEXT if few else BINARY


def _is_almost_utf8(sample: bytes, *, whole: bool) -> bool:
    return decode(_ALMOST_UTF8.sub(b"", sample), UTF8, whole=whole) is not None


def _is_broken_utf8(sample: bytes, *, whole: bool) -> tuple[int, bool]:
    """Bytes that are not UTF-8, and whether the rest shows that UTF-8 was meant.

    By chance a third of the characters of GBK look like the two-byte characters of UTF-8: hence twice as many.
    """
    kept = (decode(sample, UTF8, whole=whole, errors="ignore") or "").encode()
    stray = len(sample) - len(kept)
    return stray, _beyond_ascii(kept) > 2 * stray


def _beyond_ascii(sample: bytes) -> int:
    return len(sample) - len(sample.translate(None, _NOT_ASCII))


def _detect(sample: bytes, *, whole: bool) -> Verdict:
    """What the detector takes the bytes for; BINARY when they do not decode in that, or it has no idea."""
    # Importing the detector costs 50 ms, and one output in thousands needs it.
    import chardet  # noqa: PLC0415  a last resort must not slow every start

    beyond = _beyond_ascii(sample)
    letters = beyond + len(sample) - len(sample.translate(None, _ASCII_LETTERS))
    others = _OTHER_SCRIPTS if beyond > _OTHER_SCRIPT_SHARE * letters else ()
    found = chardet.detect(sample, include_encodings=[UTF8, *_EAST_ASIAN, *_LATIN, *others], no_match_encoding=UTF8)
    name = (found["encoding"] or "").lower()
    if not name or name == UTF8 or decode(sample, name, whole=whole) is None:
        return BINARY
    return Verdict(name, name, guessed=True)
