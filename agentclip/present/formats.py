"""Which command reads a binary file: a kind and a name come in, a command that this machine has goes out."""

from __future__ import annotations

from collections.abc import Mapping

from agentclip.present.binary import Kind
from agentclip.present.machine import Machine

_ZIPPED = ("unzip -l {}", "python3 -m zipfile -l {}", "bsdtar -tf {}")
_PLAYED = ("ffprobe -hide_banner {}", "mediainfo {}")

READERS: Mapping[str, tuple[str, ...]] = {
    "7z": ("7z l {}", "7za l {}", "7zr l {}"),
    "bz2": ("bzip2 -dc {}",),
    "deb": ("dpkg-deb -c {}",),
    "docx": _ZIPPED,
    "elf": ("readelf -h {}", "file {}"),
    "epub": _ZIPPED,
    "exe": ("file {}",),
    "flac": _PLAYED,
    "gz": ("gzip -dc {}", "python3 -m gzip -d {}"),
    "lz": ("lzip -dc {}",),
    "m4a": _PLAYED,
    "mkv": _PLAYED,
    "mov": _PLAYED,
    "mp3": _PLAYED,
    "mp4": _PLAYED,
    "odt": _ZIPPED,
    "ogg": _PLAYED,
    "pdf": ("pdftotext {} -", "mutool draw -F txt {}"),
    "pptx": _ZIPPED,
    "rar": ("unrar l {}", "bsdtar -tf {}"),
    "rpm": ("rpm -qlp {}",),
    "sqlite": ("sqlite3 {} .schema",),
    "tar": ("tar -tf {}", "python3 -m tarfile -l {}"),
    "wav": _PLAYED,
    "webm": _PLAYED,
    "xlsx": _ZIPPED,
    "xz": ("xz -dc {}",),
    "zip": _ZIPPED,
    "zst": ("zstd -dc {}",),
}
"""Extension by magic bytes to commands, the best first."""

_COMPRESSED = frozenset({"gz", "bz2", "xz", "zst"})
_COMPRESSED_TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst")


def reading(kind: Kind, name: str, machine: Machine) -> str | None:
    """The command that shows what a file holds; `name` is a word of the shell. None when this machine has none."""
    lines = READERS.get(kind.extension, ())
    if kind.extension in _COMPRESSED and name.strip("'").lower().endswith(_COMPRESSED_TARS):
        lines = READERS["tar"]
    return next((line.format(name) for line in lines if machine.has(line.split()[0])), None)
