from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from agentclip.commands.kinds import SENT_TYPES, image_type
from agentclip.commands.picture import MAX_SENT_BYTES, Picture, prepare
from agentclip.commands.raster import fit
from agentclip.commands.see import SeeCommand
from agentclip.errors import CommandError, ErrorCode
from agentclip.messages import Image as Attached
from tests.commands.calls import Desk, Outcome
from tests.commands.pictures import ANIMATED_GIF, STILL_GIF, SVG, encoded, ico, noise, png


def see(desk: Desk, name: str, data: bytes, *flags: str) -> Outcome:
    (desk.cwd / name).write_bytes(data)
    return desk.call(SeeCommand(), "see", name, *flags)


def attached(outcome: Outcome) -> tuple[Attached, bytes]:
    """The one picture, checked: its type is true of its bytes, and it decodes to the size it names."""
    assert (outcome.status, outcome.err) == (0, b"")
    (image,) = outcome.images
    data = Path(image.path).read_bytes()
    assert image.mime in SENT_TYPES
    assert image.mime == image_type(data)
    with Image.open(io.BytesIO(data)) as decoded:
        decoded.load()
        assert decoded.size == (image.width, image.height)
    return image, data


def fitted(data: bytes, side: int = 2000) -> Picture:
    """What the child makes of a picture, without the child, which costs 0.2 s; checked as `attached` does."""
    mime = image_type(data)
    assert mime is not None
    picture = fit(data, mime, side)
    assert picture.mime in SENT_TYPES
    assert picture.mime == image_type(picture.data)
    with Image.open(io.BytesIO(picture.data)) as decoded:
        decoded.load()
        assert decoded.size == (picture.width, picture.height)
    return picture


def test_a_picture_is_attached_byte_for_byte_and_named_in_one_line(desk: Desk) -> None:
    outcome = see(desk, "photo.png", png(4, 3))
    image, data = attached(outcome)
    assert outcome.text == f"photo.png: image/png 4x3, {len(data)} bytes, attached\n"
    assert data == png(4, 3)
    assert (image.source, image.width, image.height) == ("photo.png", 4, 3)


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("small.jpg", png(4, 3), "image/png"),
        ("gif.png", STILL_GIF, "image/gif"),
        ("no_ending", encoded("JPEG"), "image/jpeg"),
        ("x.gif", encoded("WEBP"), "image/webp"),
    ],
)
def test_the_type_goes_by_the_bytes_and_never_by_the_name(desk: Desk, name: str, data: bytes, mime: str) -> None:
    image, sent = attached(see(desk, name, data))
    assert (image.mime, sent) == (mime, data)


def test_another_format_becomes_a_png_and_that_is_said(desk: Desk) -> None:
    outcome = see(desk, "picture", encoded("TIFF", (32, 16)))
    image, _ = attached(outcome)
    assert image.mime == "image/png"
    assert "(converted from TIFF)" in outcome.text


@pytest.mark.parametrize("kind", ["ICO", "BMP", "TIFF", "AVIF"])
def test_other_formats_become_a_png(kind: str) -> None:
    picture = fitted(encoded(kind, (32, 16)))
    assert (picture.mime, picture.notes) == ("image/png", (f"converted from {kind}",))


def test_an_icon_made_of_a_png_becomes_a_png() -> None:
    picture = fitted(ico(png(4, 3)))
    assert (picture.mime, picture.width, picture.height) == ("image/png", 4, 3)


@pytest.mark.parametrize(
    "data",
    [
        ANIMATED_GIF,
        encoded("PNG", save_all=True, append_images=[Image.new("RGB", (40, 30), "red")]),
        encoded("WEBP", save_all=True, append_images=[Image.new("RGB", (40, 30), "red")]),
    ],
    ids=["gif", "apng", "webp"],
)
def test_of_an_animation_the_first_frame_is_sent_and_that_is_said(data: bytes) -> None:
    picture = fitted(data)
    assert (picture.mime, picture.notes) == ("image/png", ("first frame of 2",))
    assert getattr(Image.open(io.BytesIO(picture.data)), "n_frames", 1) == 1


def test_a_large_picture_is_scaled_to_the_side_and_that_is_said(desk: Desk) -> None:
    outcome = see(desk, "ac_big.png", png(3000, 3000, fill=200))
    image, data = attached(outcome)
    assert (image.width, image.height) == (2000, 2000)
    assert "(scaled from 3000x3000)" in outcome.text
    assert Image.open(io.BytesIO(data)).convert("RGB").getpixel((1000, 1000)) == (200, 200, 200)


@pytest.mark.parametrize(
    ("size", "side", "scaled"), [((100, 50), 40, (40, 20)), ((5000, 1), 100, (100, 1)), ((64, 64), 64, (64, 64))]
)
def test_the_longer_side_obeys_max_side(size: tuple[int, int], side: int, scaled: tuple[int, int]) -> None:
    picture = fitted(encoded("PNG", size), side)
    assert (picture.width, picture.height) == scaled


def test_max_side_is_a_flag(desk: Desk) -> None:
    image, _ = attached(see(desk, "a.png", encoded("PNG", (100, 50)), "--max-side", "40"))
    assert (image.width, image.height) == (40, 20)


@pytest.mark.parametrize(("kind", "width"), [("PNG", 1260), ("JPEG", 1900)])
def test_a_picture_with_too_many_bytes_is_encoded_smaller(kind: str, width: int) -> None:
    data = noise(width, width, kind)
    assert len(data) > MAX_SENT_BYTES
    assert len(fitted(data).data) <= MAX_SENT_BYTES


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "I", "CMYK", "F"])
def test_every_kind_of_pixel_can_be_scaled(mode: str) -> None:
    kind = "TIFF" if mode in ("CMYK", "F", "I") else "PNG"
    picture = fitted(encoded(kind, (300, 200), mode), 30)
    assert (picture.width, picture.height) == (30, 20)


def test_sixteen_bits_of_grey_stay_grey() -> None:
    target = io.BytesIO()
    Image.new("I;16", (200, 200), 0x8000).save(target, "PNG")
    data = fitted(target.getvalue(), 20).data
    assert Image.open(io.BytesIO(data)).convert("L").getpixel((10, 10)) == 0x80


def test_a_phone_picture_that_is_scaled_stands_upright() -> None:
    upright, target = Image.new("RGB", (300, 100)), io.BytesIO()
    exif = upright.getexif()
    exif[0x0112] = 6
    upright.save(target, "JPEG", exif=exif)
    picture = fitted(target.getvalue(), 30)
    assert (picture.width, picture.height) == (10, 30)


@pytest.mark.parametrize("data", [png(4, 3)[:-12], png(4, 3) + b"trailing", encoded("JPEG")[:-2]])
def test_what_only_a_lenient_decoder_takes_is_encoded_anew(data: bytes) -> None:
    try:
        assert fitted(data).data != data
    except CommandError as error:
        assert "is damaged or cut off" in error.message  # noqa: PT017  either outcome is right


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("data.csv", b"a,b\n1,2\n", "[error] not an image file: data.csv (use cat to read text files)"),
        ("ac_text.png", b"not an image\n", "[error] not an image file: ac_text.png (use cat to read text files)"),
        ("bmw.csv", b"BMW,1\n", "[error] not an image file: bmw.csv (use cat to read text files)"),
        ("latin.txt", "café crème".encode("latin-1") * 9, "[error] not an image file: latin.txt (use cat to read text files)"),
        ("wide.txt", "text".encode("utf-16"), "[error] not an image file: wide.txt (use cat to read text files)"),
        ("gif.txt", b"GIF89a is a format", "[error] not an image file: gif.txt (use cat to read text files)"),
        ("ac_empty.png", b"", "[error] see: ac_empty.png is empty, 0 bytes (NOT_AN_IMAGE). Use: ls -l ac_empty.png"),
        ("ac.svg", SVG, "[error] see: ac.svg is an SVG, which is text, use cat (NOT_AN_IMAGE). Use: cat ac.svg"),
        (
            "a b.pdf",
            b"%PDF-1.7\n\x00\xff\x00",
            "[error] see: a b.pdf is no picture that can be shown: application/pdf (NOT_AN_IMAGE). Use: cat -b 'a b.pdf'",
        ),
    ],
)
def test_what_is_no_picture_gets_an_error_that_says_what_it_is(desk: Desk, name: str, data: bytes, line: str) -> None:
    outcome = see(desk, name, data)
    assert (outcome.status, outcome.out, outcome.images, outcome.error) == (1, b"", (), line)


@pytest.mark.parametrize(
    "data",
    [
        png(4, 3)[:20],
        encoded("JPEG")[:200],
        encoded("WEBP")[:40],
        ico(png(4, 3))[:40],
        b"\xff\xd8\xff\0",
    ],
)
def test_a_picture_that_is_cut_off_is_refused(data: bytes) -> None:
    with pytest.raises(CommandError, match=r"^is damaged or cut off \(image/") as refused:
        fitted(data)
    assert "0x" not in refused.value.message


def test_a_picture_that_is_cut_off_is_refused_in_one_line(desk: Desk) -> None:
    outcome = see(desk, "ac_trunc.png", png(4, 3)[: len(png(4, 3)) // 2])
    assert (outcome.status, outcome.out, outcome.images) == (1, b"", ())
    assert outcome.error.startswith("[error] see: ac_trunc.png is damaged or cut off (image/")
    assert outcome.error.endswith("(NOT_AN_IMAGE). Use: ls -l ac_trunc.png")


def test_a_decompression_bomb_is_refused_by_its_declared_size(desk: Desk) -> None:
    data = png(30000, 30000, 1, 0)
    outcome = see(desk, "ac_bomb.png", data)
    assert outcome.status == 1
    assert "ac_bomb.png has 900,000,000 pixels, allowed: 100,000,000 (NOT_AN_IMAGE)" in outcome.error


def test_the_limit_is_exact(desk: Desk) -> None:
    assert see(desk, "most.png", png(10000, 10000, 1, 0), "--max-side", "16").status == 0
    assert "has 100,010,000 pixels" in see(desk, "more.png", png(10001, 10000, 1, 0)).error


@pytest.mark.parametrize("data", [png(30000, 30000, 1, 0), ico(png(30000, 30000, 1, 0))], ids=["png", "icon"])
def test_a_decompression_bomb_takes_neither_time_nor_memory(desk: Desk, data: bytes) -> None:
    script = (
        "import sys; from agentclip.commands import raster; raster.main(); sys.stdout.flush()\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_utime)\n"
    )
    argv = [sys.executable, "-c", script, "image/png", "2000"]
    answer = subprocess.run(argv, input=data, stdout=subprocess.PIPE, cwd=desk.cwd, check=True).stdout.splitlines()
    assert b"has 900,000,000 pixels" in answer[0]
    assert int(answer[1]) < 100_000
    assert float(answer[2]) < 2


def test_a_file_beyond_the_size_limit_is_refused_without_being_read_whole(desk: Desk) -> None:
    with (desk.cwd / "huge.png").open("wb") as file:
        file.write(png(4, 3))
        file.truncate(2 * 1024**3)
    outcome = desk.call(SeeCommand(), "see", "huge.png")
    assert (outcome.status, outcome.images) == (1, ())
    assert "huge.png is 2GB, allowed: 64MB" in outcome.error


def test_a_dash_reads_a_picture_from_stdin(desk: Desk) -> None:
    outcome = desk.call(SeeCommand(), "see", "-", stdin=png(4, 3))
    image, _ = attached(outcome)
    assert outcome.text.startswith("stdin: image/png 4x3")
    assert image.source == "stdin"


def test_an_endless_stdin_is_refused(desk: Desk) -> None:
    with open("/dev/zero", "rb") as zeros:
        outcome = desk.on_descriptor(SeeCommand(), ("see", "-"), zeros.fileno())
    assert outcome.error == "[error] see: stdin is more than 64MB (NOT_AN_IMAGE). Use: see --help"


def test_a_missing_file_names_the_nearest(desk: Desk) -> None:
    (desk.cwd / "my photo.png").write_bytes(png(4, 3))
    outcome = desk.call(SeeCommand(), "see", "myphoto.png")
    assert outcome.error == "[error] see: no such file: myphoto.png (INPUT_NOT_FOUND). Use: see 'my photo.png'"
    assert outcome.status == 2


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("zzzzz", "no such file: zzzzz (INPUT_NOT_FOUND). Use: ls"),
        ("sub", "sub is a folder (INVALID_VALUE). Use: ls sub"),
        ("", "the file name is empty (INVALID_VALUE). Use: ls"),
        ("/dev/null", "/dev/null is no regular file (character device) (INVALID_VALUE). Use: cat /dev/null | see -"),
        ("fifo", "fifo is no regular file (named pipe) (INVALID_VALUE). Use: cat fifo | see -"),
        ("a\nb", "no such file: a\\nb (INPUT_NOT_FOUND). Use: ls"),
        ("x" * 300, f"{'x' * 300}: File name too long (FAILED). Use: ls"),
        ("half\ud83d", "no file can be called 'half\\ud83d' (INVALID_VALUE). Use: ls"),
        ("nul\0", "no file can be called 'nul\\x00' (INVALID_VALUE). Use: ls"),
    ],
)
def test_names_that_lead_to_no_file_get_one_clear_line(desk: Desk, name: str, line: str) -> None:
    (desk.cwd / "sub").mkdir()
    os.mkfifo(desk.cwd / "fifo")
    outcome = desk.call(SeeCommand(), "see", name)
    assert outcome.error == f"[error] see: {line}"
    assert outcome.status in (1, 2)


def test_a_cancelled_look_attaches_nothing(desk: Desk) -> None:
    cancelled = threading.Event()
    cancelled.set()
    (desk.cwd / "a.png").write_bytes(png(4, 3))
    with open(os.devnull, "rb") as null:
        outcome = desk.on_descriptor(SeeCommand(), ("see", "a.png"), null.fileno(), cancelled)
    assert (outcome.status, outcome.out, outcome.images) == (130, b"", ())


def decoders() -> list[Path]:
    """Child processes of ours that decode, by their folders below /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ours = b"PPid:\t%d\n" % os.getpid() in (process / "status").read_bytes()
            if ours and b"agentclip.commands.raster" in (process / "cmdline").read_bytes():
                found.append(process)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_cancel_while_decoding_ends_the_child_at_once(desk: Desk) -> None:
    path = desk.cwd / "big.png"
    path.write_bytes(png(6000, 6000, 8, 0))
    asked = iter(range(2))

    def stop() -> None:
        if next(asked, None) is None:
            raise CommandError("cancelled", code=ErrorCode.CANCELLED)

    with path.open("rb") as file, pytest.raises(CommandError, match="cancelled"):
        prepare(file, "image/png", 2000, stop)
    assert not decoders()


def test_what_decoders_print_never_reaches_our_stderr(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    """Libtiff prints from C, as this damaged file makes it do."""
    data = bytearray(encoded("TIFF", (64, 64), compression="tiff_lzw"))
    data[8:40] = b"\xff" * 32
    assert see(desk, "noisy.tiff", bytes(data)).status == 1
    assert capfd.readouterr() == ("", "")
    with pytest.raises(CommandError):
        fit(bytes(data), "image/tiff", 100)
    assert "tempfile.tif: " in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_keys_of_providers_never_reach_the_decoders(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AC_API_KEY", "ac-secret")
    path = desk.cwd / "big.png"
    path.write_bytes(png(3000, 3000))
    seen: list[bytes] = []

    def look() -> None:
        for process in decoders():
            with suppress(OSError):
                seen.append((process / "environ").read_bytes())

    with path.open("rb") as file:
        prepare(file, "image/png", 2000, look)
    assert seen
    assert not any(b"ac-secret" in environment for environment in seen)


def test_nothing_but_seeing_loads_pillow() -> None:
    code = "import sys, agentclip.commands.catalog\nassert not [m for m in sys.modules if m == 'PIL' or m.startswith('PIL.')]\n"
    subprocess.run([sys.executable, "-c", code], check=True)


SAMPLES = (
    png(4, 3), STILL_GIF, ANIMATED_GIF, ico(png(4, 3)), encoded("JPEG"), encoded("WEBP"), encoded("BMP"), encoded("TIFF"),
    encoded("AVIF"), encoded("ICO", (32, 32)), encoded("PNG", mode="P"), encoded("TIFF", compression="tiff_lzw"),
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real file with bytes changed, cut out or cut off."""
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 6))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    cut = draw(st.one_of(st.none(), st.integers(1, len(data))))
    return bytes(data[:cut])


def check_damaged(data: bytes) -> None:
    mime = image_type(data)
    if mime is None:
        return
    try:
        picture = fit(data, mime, 50)
    except CommandError as error:
        assert error.code is ErrorCode.NOT_AN_IMAGE  # noqa: PT017  either outcome is right
        return
    assert picture.mime == image_type(picture.data)
    assert max(picture.width, picture.height) <= 50
    Image.open(io.BytesIO(picture.data)).load()


@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::PIL.Image.DecompressionBombWarning")
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_a_damaged_file_is_a_picture_that_can_be_sent_or_an_error(data: bytes) -> None:
    check_damaged(data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::PIL.Image.DecompressionBombWarning")
@settings(max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_many_damaged_files_are_pictures_that_can_be_sent_or_errors(data: bytes) -> None:
    check_damaged(data)
