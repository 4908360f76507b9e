"""Shell lines made by hypothesis: token soup for the parser, and lines that are safe to run in the fixture.

A runnable line is deterministic by construction: nothing runs in the background, only the last stage of a pipeline
writes a file, no substitution does, and no two processes share a stream.
"""

from __future__ import annotations

from hypothesis import strategies as st


def _table(text: str) -> list[str]:
    r"""The items of a table: separated by two blanks or by a line's end; a written-out \n is a newline."""
    lines = text.strip().split("\n")
    return [item.replace("\\n", "\n") for line in lines for item in line.strip().split("  ")]


_TOKENS = _table(r"""
ls  cat  a  b  x  foo  echo  cd  export  unset  test  printf  -v  A=1  A=  A+=1  a[0]  a[  a=(  1a=b  日本  語  👍  --  -n
if  then  fi  for  do  done  in  case  esac  while  time  function  coproc  f()  {  }  !  [  ]  [[  ]]  (  )  @(  !(
'  "  `  $(  ${  $((  $[  $'  $"  $  'a b'  "a b"  $'a'  $x  "$x"  ${x}  ${x:-a}  ${x:=a}  ${x#a*}  ${x/a/b}  ${x^^}  ${#x}  ${!
$?  $$  $1  $@  $_  $RANDOM  "$(a)"  $((1+2))  \  \\  \;  \'  \"  \$  \*  |  ||  |&  &  &&  ;  ;;  ;&  #  <  >  <<  <<-  >&
2>&1  2>&-  &>  &>>  <&  <>  >|  <<<  <(  >(  >f  <f  2  0  10>  {x}>  *  ?  [a]  {a,b}  {1..3}  {}  ~  ~/x  ~+  =  ==  :  %1  ^
""")
_SPACES = [*"    ", "", "", "", "\t", "\n", "\\\n", "# c\n", " # c\n", "\u3000", "\v"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Anything, dense with what shells care about."""
    tokens = draw(st.lists(st.tuples(st.sampled_from(_TOKENS), st.sampled_from(_SPACES)), max_size=12))
    return "".join(token + space for token, space in tokens)


_LITERALS = _table(r"""
a  b  foo  alpha  42  -n  x=y  a,b  'a b'  "a b"  "it's"  'say "hi"'  \"q\"  a\ b  \$A  '$A'  "\$A"  "\\"  a\\b  日本  '語 テ'
""  ''  a#b  \#  %  {}  a'b'"c"  \*  \~  "a\nb"  $  "$"  "a\tb"  HEAD~1  a{b  ]  "a!"  =  "'"  '"'
""")
_EXPANSIONS = _table(r"""
$A  "$A"  $GREETING  "$GREETING"  ${A}  ${A:-dflt}  "${GREETING#h}"  $UNSET_NAME  "$UNSET_NAME"  ${GREETING^^}  $'t\tb'  ~
*.csv  src/*.py  no*pe  [nw]*.txt  {a,b}  x{1..3}  $((1 + 2))  "pre $A post"  $A$B  "${A}s"  a=~  'q'"$A"*  $"tr"
""")
_STATEFUL = _table(r"""
$?  ${A:=set}  $((A + 1))  ${#GREETING}  $#  "$@"  $0  ${A?}  $(echo $?)  ${GREETING:1:3}  ${A:?}  $((1/0))  ${A@Q}  $-  ~-
${!A}
""")
_FILES = _table("words.txt  numbers.txt  data.csv  nofile  'file with spaces.txt'  日本語/メモ.txt  empty.txt  \"it's.txt\"")
_FOLDERS = _table('src  src/lib  日本語  nofile  .  README.md  "$PWD"  src//lib/  ./src  linkdir')
_NAMES = _table("A  B  GREETING")
_COMMANDS = _table(r"""
true  false  sh -c 'exit 3'  sh -c 'kill -TERM $$'  no_such_command  pwd  ./script.sh x  ./notexec.sh  ./noshebang.sh  src/
seq 3  seq 1 200000  git -C repo log --format=%s  printf 'a\\nb\\n'  printf x  test -f words.txt  test -d nofile  [ a = b ]
[ -n "$A" ]  [ x  mkdir -p d1  touch o1  ls src  make -s fail  cat  A=1 B='x y' printenv B  A=$GREETING sh -c 'echo "$A"'
""")
_BUILTINS = _table(r"""
exit 3  set -e  A=x  A=x B=y  read -r A  cd -  export A+=z  trap 'echo bye' EXIT  eval 'A=e'  : ok  break  shift  let A=3
set -o pipefail  shopt -s nullglob  echo ${PIPESTATUS[0]}  unset -v A  command -v ls  type -t cd  return 2  umask 077
cd src lib
""")
_FILTERS = _table(r"""
cat  sort  wc -l  head -n 1  tail -n 2  tr a b  grep a  grep -c .  sed s/a/X/  rev  nl  uniq -c  cut -c1-3  true
false  while read -r x; do echo "[$x]"; done  { read -r x; echo "$x"; }  (cat; exit 3)  read -r A  no_such_filter
sh -c 'cat; exit 4'  cd src  export A=1  echo "$A"  exit 5  A=1 cat
""")
_READS = [
    "",
    "",
    "",
    *_table("""
2>&1  2>/dev/null  <words.txt  < nofile  <<< 'here $A'  2>&1 >/dev/null
2>&1 <nofile  2>&1 >nodir/x  >&2  <<<x  </dev/null
"""),
]
_WRITES = _table(
    ">o1  > o2  >>o1  &>o2  2>o1  >|o2  >o1 2>&1  >nodir/x  >/dev/null  >'o 3'  2>>o1  3>o2  >/dev/stderr  >&o1  >$A"
)
_JOINS = [" && ", " || ", "; ", "\n", "&&", "||", ";", " &&\n", " ||\n  ", " \\\n  && ", " ; # note\n", "\n\n", " # it's\n"]
_PIPES = [" | ", "|", " |& ", " |\n", " | \\\n ", " |& # why\n"]
_DAMAGE = _table("'  \"  |  &&  ;  ;;  )  (  `  $(  fi  do  {  }  <  >  ||  !  <<E  \\n  #  [[  ${  time")
_SUBSTITUTIONS = ["$(@)", '"$(@)"', "x$(@)y", "`@`", '"`@`"', "$( @ # c\n)"]
_COMPOUNDS = [
    "(@)",
    "{ @\n}",
    "if @\nthen echo t; else echo f; fi",
    "for x in 1 2; do @\ndone",
    "f() { @\n}; f",
    "[[ $A ]] && (@)",
]


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line that may be run in the fixture; now and then one that bash refuses."""
    line = _chain(draw, depth=2)
    if draw(st.integers(0, 5)):
        return line
    pieces = line.split(" ")
    place = draw(st.integers(0, len(pieces) - 1))
    if draw(st.booleans()):
        pieces.insert(place, draw(st.sampled_from(_DAMAGE)))
    else:
        del pieces[place]
    return " ".join(pieces)


@st.composite
def joined(draw: st.DrawFn, entries: list[str]) -> str:
    """Two lines of a corpus in one: what the first leaves behind, the second may see."""
    first, second = draw(st.sampled_from(entries)), draw(st.sampled_from(entries))
    ends_early = "<<" in first or "#" in first
    return first + ("\n" if ends_early else draw(st.sampled_from([" && ", " || ", "; ", "\n"]))) + second


def _chain(draw: st.DrawFn, depth: int) -> str:
    line = _pipeline(draw, depth)
    for _ in range(draw(st.integers(0, depth + 1))):
        line += draw(st.sampled_from(_JOINS)) + _pipeline(draw, depth)
    return line


def _pipeline(draw: st.DrawFn, depth: int) -> str:
    negation = "! " if draw(st.integers(0, 7)) == 0 else ""
    if draw(st.integers(0, 2)):
        return negation + _alone(draw, depth)
    line = f"{negation}{_simple(draw, depth)} {draw(st.sampled_from(_READS))}"
    for _ in range(draw(st.integers(1, 3))):
        line += draw(st.sampled_from(_PIPES)) + draw(st.sampled_from(_FILTERS))
    return f"{line} {draw(st.sampled_from(['', '', '', *_WRITES] if depth else ['']))}"


def _alone(draw: st.DrawFn, depth: int) -> str:
    """The only stage of a pipeline: it may change the shell's state."""
    match draw(st.integers(0, 9)):
        case 0 | 1:
            return f"cd {draw(st.sampled_from(_FOLDERS))}"
        case 2:
            name, value = draw(st.sampled_from(_NAMES)), draw(st.sampled_from([*_LITERALS, *_EXPANSIONS]))
            return draw(st.sampled_from([f"export {name}={value}", f"unset {name}", f"export {name}"]))
        case 3:
            return draw(st.sampled_from(_BUILTINS))
        case 4 if depth:
            return _around(draw, _COMPOUNDS, depth)
        case _:
            return f"{_simple(draw, depth)} {draw(st.sampled_from([*_READS, *_WRITES] if depth else _READS))}"


def _simple(draw: st.DrawFn, depth: int) -> str:
    file = draw(st.sampled_from(_FILES))
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2 | 3:
            return f"echo {_words(draw, depth)}"
        case 4 | 5:
            return f"printf '<%s>' {_words(draw, depth)}"
        case 6:
            return f"cat {file}"
        case 7:
            return f"grep -e {draw(st.sampled_from(_LITERALS))} {file}"
        case _:
            return draw(st.sampled_from(_COMMANDS))


def _words(draw: st.DrawFn, depth: int) -> str:
    rare = _STATEFUL if draw(st.integers(0, 7)) == 0 else []
    words = draw(st.lists(st.sampled_from([*_LITERALS, *_LITERALS, *_EXPANSIONS, *rare]), max_size=4))
    if depth and draw(st.integers(0, 5)) == 0:
        words.append(_around(draw, _SUBSTITUTIONS, 1))
    return " ".join(words)


def _around(draw: st.DrawFn, forms: list[str], depth: int) -> str:
    form = draw(st.sampled_from(forms))
    inner = _chain(draw, depth - 1)
    # Quotes within backquotes are their own science, which the corpus covers.
    return form.replace("@", inner.replace("`", "") if "`" in form else inner, 1)
