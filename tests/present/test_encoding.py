from __future__ import annotations

import random
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentclip.present.encoding import BINARY, TEXT, declared_by, decode, is_known, judge

CHINESE = "你好世界中国测试文件不存在错误无法打开目录权限拒绝成功失败程序运行结束开始信息警告系统找不到指定的路径命令语法不正确"
JAPANESE = "こんにちは世界ファイルが見つかりませんエラー権限がありません成功失敗プログラム実行終了開始情報警告"
RUSSIAN = "файл не найден: ошибка, доступ запрещен; программа завершена успешно\n"


def guess(data: bytes) -> str:
    return judge(data, whole=True).label


def words(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text) - length, length)]


@pytest.mark.parametrize("length", [2, 3, 4, 8])
def test_short_gbk_is_never_guessed_to_be_shift_jis(length: int) -> None:
    guesses = [guess(word.encode("gbk") + b"\n") for word in words(CHINESE, length)]
    assert not {"cp932", "shift_jis", "shift-jis"} & set(guesses)
    assert guesses.count("gb18030") >= 0.8 * len(guesses)


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (CHINESE, "gbk", "gb18030"),
        (JAPANESE, "cp932", "cp932"),
        (JAPANESE, "euc-jp", "euc-jp"),
        ("錯誤無法開啟檔案權限拒絕。程式執行結束", "big5", "big5"),
        ("오류: 파일을 찾을 수 없습니다. 권한 거부", "cp949", "cp949"),
        (RUSSIAN * 2, "cp1251", "windows-1251"),
        (RUSSIAN * 2, "koi8-r", "koi8-r"),
        ("Die Größe überschreitet das Übliche, schön für Müller", "latin-1", "windows-1252"),
        ("ERROR 404: " * 20 + CHINESE, "gbk", "gb18030"),
    ],
)
def test_what_people_write_is_recognized(text: str, codec: str, label: str) -> None:
    verdict = judge(text.encode(codec), whole=True)
    assert (verdict.label, verdict.guessed) == (label, True)
    assert decode(text.encode(codec), verdict.codec or "", whole=True) == text


def test_a_declared_encoding_is_taken_before_any_guess() -> None:
    data = "こん\n".encode("cp932")
    assert judge(data, whole=True, declared="cp932").label == "cp932"
    assert judge(data, whole=True, declared="cp932").guessed is False


def test_a_declaration_is_only_for_what_is_not_utf8() -> None:
    assert judge("日本語\n".encode(), whole=True, declared="gbk") == TEXT
    assert judge("日本語の文章と\xff少し\n".encode() + b"\xff\n", whole=True, declared="latin-1") == TEXT


@pytest.mark.parametrize(
    "declared", ["", "no-such", "hex", "rot13", "zip", "undefined", "utf-16", "cp500", "unicode_escape", "a\0b", "x" * 999]
)
def test_a_senseless_declaration_is_ignored(declared: str) -> None:
    assert not is_known(declared)
    assert judge(b"caf\xe9 \xff\xfe\n", whole=True, declared=declared).codec is not None


@pytest.mark.parametrize(
    "data",
    [
        b"caf\351\n1\n2\n3\n",
        b"x\360tail\n",
        b"\xff",
        "日本語のログ\n".encode() * 50 + b"\x93\xfa\n",
        b"a line of a log\n" * 9 + b"\xe9\xff\xfe\n",
        "日本語".encode()[:-1],
    ],
)
def test_a_few_stray_bytes_make_no_binary_and_no_guess(data: bytes) -> None:
    assert judge(data, whole=True) == TEXT


def test_halves_of_surrogate_pairs_are_read_as_broken_utf8() -> None:
    assert judge(b"java \xed\xa0\xbd\xed\xb8\x80 text \xc0\x80\n" * 20, whole=True) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        b"before\0after\n",
        bytes(range(256)),
        b"\xff\xd8\xff\xe0 no nul here \xff\xd9" * 9,
        b"BZh91AY&SY\xd9\x12\xee\xf1 more \xa9\xb2\xc3" * 3,
        b"\x01\x02\x03 abc\n",
        b"\xfe\xff\xd8\xd8\xd8\xd8",
    ],
)
def test_what_is_no_text_is_binary(data: bytes) -> None:
    assert judge(data, whole=True) == BINARY


def test_a_legacy_locale_does_not_make_text_of_a_picture() -> None:
    assert judge(b"\xff\xd8\xff\xe0 no nul here \xff\xd9" * 9, whole=True, declared="latin-1") == BINARY


def test_random_bytes_without_nul_are_binary() -> None:
    source = random.Random(3)
    for _ in range(50):
        assert judge(source.randbytes(300).replace(b"\0", b"\xff"), whole=True) == BINARY


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_told_by_their_mark(codec: str) -> None:
    data = "\ufeffhéllo\n" if "-le" in codec or "-be" in codec else "héllo\n"
    verdict = judge(data.encode(codec), whole=True)
    assert (verdict.label, verdict.wide) == (codec[:6], True)


def test_a_sample_cut_inside_a_character_is_still_utf8() -> None:
    assert judge("日本語".encode()[:-1], whole=False) == TEXT
    assert judge("日本語".encode("gbk")[:-1], whole=False, declared="gbk").label == "gbk"


@given(
    data=st.binary(max_size=300),
    whole=st.booleans(),
    declared=st.sampled_from([None, "gbk", "latin-1", "unicode_escape", "punycode", "utf-7"]),
)
def test_any_bytes_get_a_verdict_that_can_be_carried_out(data: bytes, *, whole: bool, declared: str | None) -> None:
    verdict = judge(data, whole=whole, declared=declared)
    if verdict.codec is not None:
        data.decode(verdict.codec, "replace")


@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({"LANG": "C.UTF-8"}, None),
        ({"LANG": "C"}, None),
        ({}, None),
        ({"LANG": "en_US"}, None),
        ({"LANG": "zh_CN.GBK"}, "gbk"),
        ({"LANG": "zh_CN.GB2312"}, "gb18030"),
        ({"LANG": "zh_CN"}, "gb18030"),
        ({"LANG": "ja_JP.SJIS"}, "shift_jis"),
        ({"LANG": "de_DE.ISO-8859-15@euro"}, "iso8859-15"),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1"),
        ({"LANG": "zh_CN.GBK", "LC_ALL": "C.UTF-8"}, None),
        ({"LANG": "C.UTF-8", "LC_CTYPE": "ru_RU.KOI8-R"}, "koi8-r"),
        ({"LANG": "xx_YY.no-such"}, None),
        # what Python makes of a locale that is not installed
        ({"LANG": "zh_CN.GBK", "LC_CTYPE": "C.UTF-8"}, "gbk"),
        ({"LANG": "", "LC_CTYPE": "C.UTF-8"}, None),
        ({"LANG": "zh_CN.GBK", "LC_CTYPE": "C.UTF-8", "LC_ALL": "C"}, None),
    ],
)
def test_the_locale_declares_an_encoding(environment: dict[str, str], encoding: str | None) -> None:
    assert declared_by(environment) == encoding


@pytest.mark.skipif(shutil.which("iconv") is None, reason="there is no iconv here")
@pytest.mark.parametrize(
    "name",
    ["gb18030", "big5", "cp932", "euc-jp", "cp949", "windows-1252", "windows-1251", "koi8-r", "latin1", "shift-jis", "utf-16"],
)
def test_iconv_knows_the_names_that_are_advised(name: str) -> None:
    assert subprocess.run(["iconv", "-f", name, "-t", "utf-8"], input=b"", check=False).returncode == 0


def test_the_detector_is_not_loaded_until_an_output_needs_it() -> None:
    code = "import sys; import agentclip.present.presenter; sys.exit('chardet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
