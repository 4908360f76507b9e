from __future__ import annotations

import gzip
import io
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from agentclip.present.binary import kind_of, named_in_plan
from agentclip.present.naming import name_by_content
from agentclip.present.presenter import present
from agentclip.results import Limits, StageKind, StreamFile
from tests.present.runs import Ran, Run


def picture(form: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (9, 7), (200, 30, 30)).save(file, form)
    return file.getvalue()


@pytest.mark.parametrize(
    ("form", "extension"),
    [("PNG", "png"), ("JPEG", "jpg"), ("GIF", "gif"), ("WEBP", "webp"), ("BMP", "bmp"), ("TIFF", "tif"), ("AVIF", "avif")],
)
def test_pictures_are_told_by_their_bytes(form: str, extension: str) -> None:
    kind = kind_of(picture(form))
    assert (kind.extension, kind.image) == (extension, True)


@pytest.mark.parametrize(
    ("data", "extension"),
    [
        (gzip.compress(b"x", mtime=0), "gz"),
        (b"SQLite format 3\0" + bytes(99), "sqlite"),
        (b"\x7fELF" + bytes(99), "elf"),
        (b"\0\1", "bin"),
    ],
)
def test_other_kinds_are_no_pictures(data: bytes, extension: str) -> None:
    kind = kind_of(data)
    assert (kind.extension, kind.image) == (extension, False)


STATE = StageKind.STATE


@pytest.mark.parametrize(
    ("pipelines", "name"),
    [
        ([[Ran("cat photo.png")]], "photo.png"),
        ([[Ran("/bin/cat photo.png")]], "photo.png"),
        ([[Ran("cat -v photo.png")]], "photo.png"),
        ([[Ran("cat a.png b.png")]], "a.png"),
        ([[Ran("head -c 100 photo.png")]], "photo.png"),
        ([[Ran("tail 100 photo.png")]], "photo.png"),
        ([[Ran("cat", reads="photo.png")]], "photo.png"),
        ([[Ran("cat photo.png"), Ran("head -n 5")]], "photo.png"),
        ([[Ran("mkdir x")], [Ran("cat photo.png")]], "photo.png"),
        ([[Ran("cd img", kind=STATE)], [Ran("cat photo.png")]], "photo.png"),
        ([[Ran("curl -o photo.png http://x/")], [Ran("cat photo.png")]], "photo.png"),
        ([[Ran("wget http://x/photo.png")], [Ran("cat photo.png")]], "photo.png"),
        ([[Ran("cat /img/photo.png")], [Ran("cd /", kind=STATE)]], "/img/photo.png"),
        # No name beyond doubt:
        ([[Ran("cat photo.png")], [Ran("cd /", kind=STATE)]], None),
        ([[Ran("cat photo.gz"), Ran("gunzip")]], None),
        ([[Ran("cat photo.png"), Ran("base64")]], None),
        ([[Ran("echo hi")], [Ran("cat photo.png")]], None),
        ([[Ran("curl -o - http://x/")], [Ran("cat photo.png")]], None),
        ([[Ran("curl http://x/")]], None),
        ([[Ran("cat photo.png", writes="copy.png")]], None),
        ([[Ran("cat")]], None),
        ([[Ran(None)]], None),
        ([[Ran("cat bad\x1b[31m.png")]], None),
        ([[Ran("cat half\udc80.png")]], None),
        ([[Ran("cat " + "x" * 5000)]], None),
    ],
)
def test_the_name_comes_from_the_plan_only_beyond_doubt(pipelines: list[list[Ran]], name: str | None, tmp_path: Path) -> None:
    assert named_in_plan(Run(pipelines=pipelines).result(tmp_path).chain) == name


def test_a_spool_without_a_name_gets_its_true_extension_and_is_advised_by_it(tmp_path: Path) -> None:
    run = Run(picture("PNG"), [[Ran("curl http://x/")]])
    result = run.result(tmp_path)
    path = name_by_content(result.stdout, run.limits)
    assert path == str(tmp_path / "cmd-3.png")
    assert os.path.samefile(path, result.stdout.path)
    assert name_by_content(result.stdout, run.limits) == path
    assert present(result, run.limits).text == f"[error] binary image ({len(run.stdout)}B). Use: see {path}\n[exit:0 | 12ms]"


def test_the_advice_for_a_binary_works_as_written(tmp_path: Path) -> None:
    folder = tmp_path / "a folder's"
    folder.mkdir()
    run = Run(gzip.compress(b"text" * 99), [[Ran("gzip -c x")]])
    result = run.result(folder)
    name_by_content(result.stdout, run.limits)
    advice = present(result, run.limits).text.splitlines()[0].partition("Use: cat -b ")[2]
    assert Path(shlex.split(advice)[0]).read_bytes() == run.stdout
    assert subprocess.run(["bash", "-c", f"gunzip -c {advice}"], check=True, capture_output=True).stdout == b"text" * 99


def test_text_and_what_is_gone_get_no_second_name(tmp_path: Path) -> None:
    text = Run(b"BM is text, GIF too\n").result(tmp_path).stdout
    assert name_by_content(text, Limits()) is None
    assert name_by_content(StreamFile(str(tmp_path / "gone.txt"), 9), Limits()) is None
    assert name_by_content(StreamFile(text.path, 0), Limits()) is None
    assert os.listdir(tmp_path) == ["cmd-3.txt"]


@pytest.mark.parametrize(
    "text", ["BMW and others\n", "GIF is a format\n", "MZ\n", "%PDF-1.4 is how a PDF begins\n", "PK\n", "RIFF\n", "ID3\n"]
)
def test_a_text_that_begins_like_a_binary_is_shown(text: str, tmp_path: Path) -> None:
    assert present(Run(text.encode()).result(tmp_path), Limits()).text == f"{text}[exit:0 | 12ms]"
