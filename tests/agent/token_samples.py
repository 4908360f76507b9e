"""Texts of four kinds, with what the tokenizers of three model families count: cl100k, Claude 2, DeepSeek 3. Fixed."""

from __future__ import annotations

ENGLISH = (
    "penClaw, and Pinix.\n"
    "\n"
    "---\n"
    "\n"
    "## Core Philosophy\n"
    "\n"
    "Unix and LLMs made the same architectural decision 50 years apart: **everything is text**.\n"
    "\n"
    "- Unix: text streams, pipes, exit codes, `--help`, stderr\n"
    "- LLMs: tokens in, tokens out — they only understand and produce text\n"
    "\n"
    "This convergence means **the Unix terminal interface is the LLM's native tool interface**. Don't"
    " invent a new one.\n"
    "\n"
    "---\n"
    "\n"
    "## Principle 1: Single `run` Tool\n"
    "\n"
    "Replace a catalog of typed function calls with one tool:\n"
    "\n"
    "```python\n"
    'run(command="...")\n'
    "```\n"
    "\n"
    "All capabilities exposed as CLI subcommands. The LLM composes strings instead of switching betwe"
    "en unrelated API schemas.\n"
    "\n"
    "**Why it works:**\n"
    "- LLMs have seen billions of shell commands in training data — they already know CLI\n"
    "- Command selection = string composition in one namespace\n"
    "- Function selection = context-switching between N unrelated APIs\n"
    '- Reduces "which tool?" cognitive load; agent focuses on "what do I need?"\n'
    "\n"
    "**Example reduction:**\n"
    "\n"
    "```\n"
    "# Function-calling (3 calls):\n"
    'read_file(path="/var/log/app.log")\n'
    'search_text(text=<file>, pattern="ERROR")\n'
    "count_lines(text=<matches>)\n"
    "\n"
    "# CLI (1 call):\n"
    'run(command="cat /var/log/app.log | grep ERROR | wc -l")\n'
    "```\n"
    "\n"
    "---\n"
    "\n"
    "## Principle 2: Chain Parser (`parseChain`)\n"
    "\n"
    "Support four Unix chain operators so a single tool call = a complete workflow:\n"
    "\n"
    "| Operator | Behavior |\n"
    "|----------|----------|\n"
    "| `\\|` | Pipe: stdout of previous → std"
)

JAPANESE = (
    "・プロジェクト」であり、2つ目はシステムの安定運用のために構築された「シングルエージェント実装原"
    "理」である。\n"
    "\n"
    "本稿では、これら2つのコアを分解し、その設計哲学と技術的トレードオフを分析する。\n"
    "\n"
    "キュー・ワード・エンジニアリング：エージェントのための制御された長期記憶の作成\n"
    "\n"
    "すべての大規模言語モデルは、限られたコンテキストウィンドウという共通の課題に直面しています。対話"
    "が長くなりすぎると、初期の情報は忘れられ、エージェントの「健忘症」につながる。gemini-cl"
    "i\xa0応答は単純な歴史的要約ではなく、精巧に構造化された圧縮メカニズムである。このメカニズムの魂は"
    "、次のような完全で詳細な「記憶テンプレート」キューである。これは、長い会話の履歴を、将来のタスク"
    "に不可欠な高度に凝縮されたXMLスナップショットに抽出する際に、モデルをガイドする。\n"
    "\n"
    "You are the component that summarizes internal c"
    "hat history into a given structure.\n"
    "When the conversation history grows too large, y"
    "ou will be invoked to distill the entire history"
    " into a concise, structured XML snapshot.This sn"
    "apshot is CRITICAL, as it will become the agent'"
    "s *only* memory of the past. The agent will resu"
    "me its work based solely on this snapshot. All c"
    "rucial details, plans, errors, and user directiv"
    "es MUST be preserved.\n"
    "First, you will think through the entire history"
    " in a private <scratchpad>. Review the user's ov"
    "erall goal, the agent's actions, tool outputs, f"
    "ile modifications, and any unresolved q"
)

CHINESE = (
    "工具的声明必须精确到“参数名、类型、可选值、默认值”不能留模糊空间。我用 YAML 来写这份清单"
    "因为它的可读性最好既能给人看也能快速转成 JSON 喂给大模型。举个例子我接入过一个老旧的图像批"
    "处理软件它没有 API但提供了一个命令行 exe。我给它的注册描述长这样id: image_re"
    "sizer description: 批量调整图片尺寸支持常见图像格式输出到指定目录 param"
    "eters: - name: input_dir type: string required: "
    "true description: 存放原始图片的文件夹路径 - name: width typ"
    "e: integer required: true description: 目标宽度像素值必须"
    "大于 0 - name: height type: integer required: true"
    " description: 目标高度像素值必须大于 0 - name: keep_ratio t"
    "ype: boolean default: false description: 是否保持原始宽"
    "高比为 true 时忽略 height examples: - 把 /tmp/pics 里的图缩"
    "到 800 宽保持比例 call: image_resizer --input /tmp/pic"
    "s --width 800 --keep-ratio true这份清单最关键的地方在descri"
    "ption和examples两处。description决定模型能不能正确找到这个工具examp"
    "les则像给模型做了一次示范让它知道“这类说法应该翻译成那种调用”。我后来还发现示例的数量和质量"
    "比参数描述的详细程度更能影响调用准确率所以每个工具至少配三到五个典型示例覆盖“简单请求、带细枝末"
    "节的请求、容易混淆的写法”。另外每个工具都要显式声明安全约束比如执行目录白名单、禁止删除操作、超"
    "时上限。这部分不是给模型看的是给执行器做硬校验用的。模型可能给出合法但危险的参数执行器必须拦截。"
    "2.2 意图解析与参数绑定最关键的“翻译”环节有了工具清单接下来就是让大"
)

CODE = (
    "isenabled()\n"
    "    gc.disable()\n"
    "    try:\n"
    "        yield\n"
    "    finally:\n"
    "        if was_enabled:\n"
    "            gc.enable()\n"
    "\n"
    "\n"
    "@dataclass(frozen=True, slots=True)\n"
    "class LogContent:\n"
    '    """What a file held."""\n'
    "\n"
    "    events: tuple[Recorded, ...]\n"
    "    size: int\n"
    '    """Bytes up to the end of the last whole line; what follows is torn."""\n'
    "    torn: bytes\n"
    '    """The end of the file behind the last newline; normally empty."""\n'
    "    skipped: int\n"
    '    """Whole lines that this version cannot read."""\n'
    "\n"
    "\n"
    "def read_log(path: Path) -> LogContent:\n"
    '    """Read a log without changing it; another program may be writing to it. A missing file is a'
    'n empty log."""\n'
    "    events: list[Recorded] = []\n"
    "    size = skipped = 0\n"
    '    torn = b""\n'
    "    try:\n"
    '        with collector_paused(), path.open("rb") as file:\n'
    "            for line in file:\n"
    '                if not line.endswith(b"\\n"):\n'
    "                    torn = line\n"
    "                    break\n"
    "                size += len(line)\n"
    "                try:\n"
    "                    events.append(decode(line))\n"
    "                except UnreadableLineError as error:\n"
    "                    skipped += 1\n"
    '                    _logger.warning("%s: a line was skipped: %s", path, error)\n'
    "    except FileNotFoundError:\n"
    "        pass\n"
    "    except OSError as error:\n"
    '        raise SessionError(f"{path} cannot be read: {error.strerror}") from error\n'
    "    return LogContent(tuple(events), size, torn, skipped)\n"
    "\n"
    "\n"
    "class EventLog:\n"
    '    """An open log. One process writes it, one line with one `write` each."""\n'
    "\n"
    "    def __init__(self, path: Path) -> None:\n"
    "        self.path = path\n"
    "        self.notices: tuple[str, ...] = ()\n"
    '        """What the person should know about the file; empty for a sound one."""\n'
    "        content = read_log(path)\n"
    "        self.loaded = list(content.events)\n"
    '        """The events that the file held when it was'
)

COUNTS = {
    "english": (ENGLISH, (330, 376, 326)),
    "japanese": (JAPANESE, (511, 524, 366)),
    "chinese": (CHINESE, (589, 517, 378)),
    "code": (CODE, (410, 426, 429)),
}
"""Text, and its tokens by each of the three."""
