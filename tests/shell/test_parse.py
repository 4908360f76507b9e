"""Rules of the parser, one table each. The comparison with bash and shfmt is in tests/spec."""

from __future__ import annotations

import pytest

from agentclip.results import Join, Redirect, Stage
from agentclip.shell.parse import parse_chain


def stages(line: str) -> list[Stage]:
    return [stage for pipeline in parse_chain(line).pipelines for stage in pipeline.stages]


def only(line: str) -> Stage:
    """The one stage of a line that is split (if only into itself)."""
    chain = parse_chain(line)
    assert not chain.whole
    (stage,) = stages(line)
    return stage


def test_joins_pipes_and_negation_keep_the_order_of_the_line() -> None:
    chain = parse_chain("cd a && ls 2>&1 | head || ! echo x |& cat; pwd\ntrue")
    assert [(each.join, each.negated, [stage.text for stage in each.stages]) for each in chain.pipelines] == [
        (Join.ALWAYS, False, ["cd a"]),
        (Join.SUCCESS, False, ["ls 2>&1", "head"]),
        (Join.FAILURE, True, ["echo x", "cat"]),
        (Join.ALWAYS, False, ["pwd"]),
        (Join.ALWAYS, False, ["true"]),
    ]
    assert [stage.pipes_stderr for stage in stages("a |& b | c")] == [True, False, False]


def test_offsets_count_characters() -> None:
    line = "echo 日本 | \\\n  cat # 語\n ! ls"
    assert [(stage.offset, stage.text) for stage in stages(line)] == [(0, "echo 日本"), (14, "cat"), (25, "ls")]


@pytest.mark.parametrize("line", ["", "  ", "\n\n", "# only a comment", "\t# one\n # two\n", "\\\n"])
def test_a_line_without_commands_has_no_pipelines(line: str) -> None:
    chain = parse_chain(line)
    assert chain.pipelines == ()
    assert not chain.whole


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"""a 'b  c' "d  e" f\ g""", ("a", "b  c", "d  e", "f g")),
        ("""a 'it'"'"'s' "say \\"hi\\"" """, ("a", "it's", 'say "hi"')),
        (r'a "\a\$\`\\\n" \\ \$x', ("a", r"\a$`\\n", "\\", "$x")),
        ("a '' \"\"", ("a", "", "")),
        ("a 'x\ny' \"p\\\nq\"", ("a", "x\ny", "pq")),
        ("find . -name '*.py' -exec grep x {} \\;", ("find", ".", "-name", "*.py", "-exec", "grep", "x", "{}", ";")),
        ("git show HEAD~1 stash@{0} a..b ^c", ("git", "show", "HEAD~1", "stash@{0}", "a..b", "^c")),
        ("awk '{print $1}' \"{print \\$2}\"", ("awk", "{print $1}", "{print $2}")),
        ("a b#c '#d' \\#e", ("a", "b#c", "#d", "#e")),
        ("a $ \"$\" x$ '$x'", ("a", "$", "$", "x$", "$x")),
        ("a 日本　語", ("a", "日本　語")),
        ("a if then ! [ ] = == x=y", ("a", "if", "then", "!", "[", "]", "=", "==", "x=y")),
        ("a\tb  \\\n  c", ("a", "b", "c")),
    ],
)
def test_literal_words_lose_their_quotes(line: str, words: tuple[str, ...]) -> None:
    assert only(line).words == words


@pytest.mark.parametrize(
    "word",
    [
        *("$x", '"$x"', "${x}", "${x:-d}", "${#x}", "${x%.*}", "${x/a/b}", "${x^^}", "${x:1:2}", "$(b)", '"$(b | c)"', "`b`"),
        *("$((1+2))", "*", "a?", "[ab]", "x[1]", "{a,b}", "{1..3}", "~", "~/x", "a=~", "x:~", "~user", "$'b'", '$"b"', "'q'*"),
    ],
)
def test_a_word_that_bash_must_expand_leaves_the_stage_to_bash(word: str) -> None:
    assert only(f"a {word}").words is None


def test_assignments_in_front_are_kept_apart() -> None:
    stage = only("A=1 B='x y' C= cmd D=2")
    assert stage.words == ("cmd", "D=2")
    assert stage.assignments == (("A", "1"), ("B", "x y"), ("C", ""))
    assert only("A=$x cmd").words is None
    assert only("A=~ cmd").assignments == ()
    assert only("PATH=/x cmd").words is None, "bash looks the command up on that PATH"
    assert only("'A'=1").words == ("A=1",)


@pytest.mark.parametrize(
    ("text", "redirect"),
    [
        (">f", Redirect(None, ">", "f")),
        (">> f", Redirect(None, ">>", "f")),
        ("2>/dev/null", Redirect(2, ">", "/dev/null")),
        ("2>&1", Redirect(2, ">&", "1")),
        (">&2", Redirect(None, ">&", "2")),
        ("2>&-", Redirect(2, ">&", "-")),
        (">&both", Redirect(None, ">&", "both")),
        ("&>f", Redirect(None, "&>", "f")),
        ("&>>'a b'", Redirect(None, "&>>", "a b")),
        ("<f", Redirect(None, "<", "f")),
        ("3<>f", Redirect(3, "<>", "f")),
        (">|f", Redirect(None, ">|", "f")),
        ("<<<'x y'", Redirect(None, "<<<", "x y")),
        ("0<&3", Redirect(0, "<&", "3")),
    ],
)
def test_redirects_are_read_with_their_descriptor(text: str, redirect: Redirect) -> None:
    for line in (f"cmd {text}", f"{text} cmd", f"cmd {text} # c"):
        stage = only(line)
        assert stage.redirects == (redirect,)
        assert stage.words == ("cmd",)


def test_only_digits_that_touch_the_operator_are_a_descriptor() -> None:
    assert only("echo 2 >f").words == ("echo", "2")
    assert only("echo a2>f").words == ("echo", "a2")
    assert only("echo '2'>f").words == ("echo", "2")
    assert only("echo 2&>f").words == ("echo", "2")
    assert only("echo 2>&1>f").redirects == (Redirect(2, ">&", "1"), Redirect(None, ">", "f"))


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/3", "/dev/tcp/h/1", "/proc/self/fd/1"])
def test_targets_that_are_the_process_own_are_for_bash(target: str) -> None:
    stage = only(f"cmd >{target}")
    assert stage.words is None
    assert stage.redirects == (Redirect(None, ">", target),)


WHOLE = {
    "compound commands and keywords": r"""
        if a; then b; fi  for i in 1; do a; done  while a; do b; done  until a; do b; done  case x in y) a;; esac  (a)
        { a; }  [[ a ]]  ((1))  f() { a; }  function f { a; }  select x in y; do a; done  coproc a  time a  time
        ! time a  a | time  a && (b)  ! { a; }  a | (b)  a | while b; do c; done  "if" a  \if  i\f a  A=1 if a
    """,
    "bare assignments": r"""
        A=1  A=1; echo $A  A=1 B=2  A+=1 b  a[0]=1  a[1 | 2]=1  A=(1 2)  a && B=c  A= | b
    """,
    "builtins of the shell itself": r"""
        exit  exit 3  set -e  shopt -s x  source f  . f  eval a  exec a  trap a EXIT  read x  wait  kill 1  ulimit -n 1
        umask 0  alias a=b  let a=1  : x  hash  type a  command -v a  builtin a  declare a=1  local a  readonly a=1
        jobs  fg  bg  history  pushd a  popd  dirs  getopts a b  mapfile a  shift  return  break  continue  times
        enable a  help  a; exit 3  a && set -e  a | read x  'exit'  \exit  "se"t -e  %1  setsid a  A=1 exit
    """,
    "background, here-documents, process substitution": r"""
        a &  a & b  a && b &  a &\nb  a <<E\nE  a <<-E\nE  a <(b)  a >(b)  diff <(a) <(b) | c  a $(b &)  a $(b <<E\nE\n)
    """,
    "changes of state that are not plain": r"""
        cd -  cd -P a  cd a b  cd ''  cd $x  cd "$x"  cd *  cd ~  cd a >f  cd a 2>/dev/null  A=1 cd b  export  export -p
        export A=$x  export A=$(b)  export A+=1  export A=~  export 1A=x  export -n A  A=1 export B=2  export A=1 >f
        export PATH=/x  export IFS=,  export A-B=1  unset  unset -f f  unset -v A  unset PATH  unset $x
        export BASH_ENV=f  export -p | cat  cd - | cat  unset UID  unset A=1  UID=1 a  RANDOM=1 a  BASHOPTS=x a
        export $x | cat  export | cat  a | export
    """,
    "special and changing parameters": r"""
        echo $?  echo $!  echo $$  echo $_  echo $-  echo $0  echo $1  echo $#  echo $*  echo $@  echo "$?"
        echo "a $$ b"  echo ${?}  echo ${10}  echo $PIPESTATUS  echo ${PIPESTATUS[0]}  echo $BASHPID  echo $RANDOM
        echo "$SECONDS"  echo $LINENO  echo $BASH_X  echo $FUNCNAME  echo $EPOCHSECONDS  echo $SRANDOM  echo $OLDPWD
        echo $(echo $?)  echo "$(echo "$1")"  echo `echo $$`  echo ${RANDOM}  echo ${LINENO:-x}  echo ${#RANDOM}
        echo ~-  echo ~+/x  echo ~1  A=$? b  a $(b; echo $?)  echo $LINES
    """,
    "expansions that assign, that can fail, or that are unknown": r"""
        echo ${x:=1}  echo ${x=1}  echo ${x:?}  echo ${x?e}  echo ${!x}  echo ${x@Q}  echo ${x[0]}  echo ${x:y}
        echo ${x: -1}  echo $((x++))  echo $((x = 1))  echo $((1/0))  echo $((08))  echo $((x))  echo $[1]
        echo ${x:-'a'}  echo ${x:-$y}  echo ${}  echo ${x:-${y}}  echo ${x:08}  echo ${x!}  echo $(( 1 2 ))
    """,
    "redirects that only bash can judge": r"""
        a >$f  a <$f  a >*  a {fd}>f  a <&x  a 2>&x  a &>2  a 123>f  a > ~/x  a <<<$x  >f  >f <g  a >{x,y}
    """,
    "printf and test that may assign": r"""
        printf -v x a  printf -vx a  printf $x  printf "$x"  printf '-v' x a  printf "-v$x"  [ -v 'a[x=1]' ]
        test -v a[1]
    """,
    "commands that the text does not name": r"""
        $x  "$x" a  $(b) c  `b`  ~/b  ./*  a && $b  A=1 $b  ''  '' a  {a,b}  $'ls'
    """,
    "syntax errors": r"""
        ls |  && ls  || ls  | ls  ls &&  ls ||  a ;; b  a ; ; b  a | | b  a && || b  a &&& b  a ||| b  "a  'a  a `b
        a $(b  a ${b  a )  ( a  a (b)  a >  a > | b  a 2>  >  a < > b  }  fi  do  done  then  a; }  !  ! ;  a | ! b
        ! ! a  a $(b |)  a $(fi)  a `b |`  a |&& b  ;  &  |  a;&  a $'b  a $"b  a &&\n  a |\n# c\n  a\n&& b  a;\n;  (a
        a $((1)  a x>2>f
    """,
    "odd characters and continuations": "a\rb  a\0b  a \x01  a \x7f  a\\\nb  a $x\\\n  a # c \\\n  a \\  a |\\\n| b  2\\\n>f a"
    '  a "$RAN\\\nDOM"  a "$\\\nRANDOM"  a `b \\`c\\``  a `b \\$c`  a "`b "c"`"  a $(`b`#c)  a $\\\nx',
}


def table(text: str) -> list[str]:
    r"""The items of a table, separated by two blanks or by a line's end; a written-out \n is a newline."""
    return [item.replace("\\n", "\n") for row in text.strip().split("\n        ") for item in row.split("  ")]


@pytest.mark.parametrize("kind", WHOLE)
def test_lines_whose_stages_could_be_told_apart_are_taken_whole(kind: str) -> None:
    for line in table(WHOLE[kind]):
        chain = parse_chain(line)
        assert chain.whole, line
        (pipeline,) = chain.pipelines
        assert (pipeline.join, pipeline.negated) == (Join.ALWAYS, False)
        assert pipeline.stages == (Stage(text=line, offset=0, words=None),)


SPLIT = {
    "plain state": r"""
        cd  cd a  cd ../b  cd a && ls  export A=1  export A=1 B='x y' C  unset A B  export A  cd 日本語; ls  ! cd a
        export TZ=UTC
    """,
    "state in a pipeline, which bash runs in a subshell": r"""
        cd a | cat  a | cd b  export A=1 | cat  unset A | cat
    """,
    "harmless builtins": r"""
        echo a  printf '%s' a  printf "a$x"  printf --  printf  test -f a  [ -f a ]  [ -v A ]  true  false  pwd
        echo a && pwd
    """,
    "substitutions of simple commands": r"""
        a $(b | c && d; e)  a "$(b "$(c)")"  a $(cd b && pwd)  a $(exit 3)  a `b | c`  a $(<f)  a $(A=1; b)  a $(b >$x)
        a $( # c\nb )  a $(b=1 c)  a $()  a "`b`"  a $($x)  a $(! b)  a $(echo \))
    """,
    "odd but plain": r"""
        ! a  a; # c\nb  a && # c\n b  a |\n b  a;  \ls  'l's  !a  a ! b  a {} {a}  a }  a [  A=1 B=$x c  COLUMNS=80 a
        IFS=, a  HOME=/x a  a '$?' \$? '$1'  a "\$1"  a $x$y  a <f >g 2>&1  2>&1 a  a \\\n  b
    """,
}


@pytest.mark.parametrize("kind", SPLIT)
def test_plain_lines_are_split(kind: str) -> None:
    for line in table(SPLIT[kind]):
        assert not parse_chain(line).whole, line


def test_our_own_words_win_over_builtins_and_stay_ordinary_words() -> None:
    own = ("help", "jobs", "time", "memory")
    for line in ("help", "jobs list", "memory search x | head", "time", "time --help", "a && time", "time | cat"):
        assert not parse_chain(line, own).whole, line
        assert parse_chain(line).whole == (not line.startswith("memory")), line
    for line in ("time ls", "time -p a", "time --help a", "a=1 time", ">f time", "time (a)", "a $(time)", "help $?", "exit"):
        assert parse_chain(line, own).whole, line
    assert parse_chain("'time'", own).pipelines[0].stages[0].words == ("time",)
