"""The judge's sentences, in English and in Chinese, made of a verdict."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .verdict import Verdict

# By kind: English, Chinese. {at} is where a program stood, {hop} a message, {holder} a chunk of a
# rank; what else stands in braces is the verdict's `what`, or one of its fields.
SENTENCES: dict[str, tuple[str, str]] = {
    "right": (
        "right: {goal} on {ranks_in_all} in {steps}; the busiest sends {busiest} of the array, "
        "and no less than {bound} is possible",
        "正确：{size} 个 rank 用 {steps} 步完成 {goal}；"
        "发送最多的 rank 发出整个数组的 {busiest}，下界是 {bound}",
    ),
    # Before it runs
    "source": (
        "{at}the source cannot be run: {error}",
        "{at}源代码无法运行：{error}",
    ),
    "no_program": (
        "the source has no rank program: mark a function by @collective(goal, pieces=…)",
        "源代码里没有 rank 程序：请用 @collective(goal, pieces=…) 标记一个函数",
    ),
    "unpicklable": (
        "the function cannot be taken to a process of its own: {error}; hand over its source, or a "
        "function that uses only what can be pickled",
        "这个函数无法送到另一个进程：{error}；请改为提供源代码，或只使用可以 pickle 的对象",
    ),
    "unmarked": (
        "{got} is no rank program: mark a function by @collective(goal, pieces=…)",
        "{got} 不是 rank 程序：请用 @collective(goal, pieces=…) 标记一个函数",
    ),
    "pieces": (
        "pieces({size}) is {got}; it must be the number of chunks, 1 to {most}",
        "pieces({size}) 的值是 {got}；它应是块数，1 到 {most}",
    ),
    "root": (
        "root is {got}, but ranks are 0 to {last}",
        "root 是 {got}，而编号只有 0 到 {last}",
    ),
    "holds": (
        "the chunks with which a rank starts cannot be told: {error}",
        "无法得知各 rank 开始时持有哪些块：{error}",
    ),
    "start": (
        "at the start {count_of} chunk {chunk}; exactly one rank must hold it",
        "开始时有 {count} 个 rank 持有第 {chunk} 块；每一块应当恰好由一个 rank 持有",
    ),
    "signature": (
        "the program cannot be called: {error}; a rank program takes (rank, size, x)",
        "程序无法调用：{error}；rank 程序的参数是 (rank, size, x)",
    ),
    "no_generator": (
        "the program returns {got} and has no yield; a rank program says `yield Swap(…)` wherever "
        "it sends or receives",
        "程序返回了 {got}，其中没有 yield；rank 程序在收发消息处都要写 `yield Swap(…)`",
    ),
    # What it yields
    "no_swap": (
        "{at}yields {got}; a rank program may only yield Swap(…), and calls another one by "
        "`yield from`",
        "{at}yield 了 {got}；rank 程序只能 yield Swap(…)，调用另一个程序要写 `yield from`",
    ),
    "itself": (
        "{at}sends to itself or waits for itself; a message goes to another rank",
        "{at}收发对象是它自己；消息只能发给别的 rank",
    ),
    "no_rank": (
        "{at}names rank {peer}, but ranks are 0 to {last}{hint}",
        "{at}收发对象是 rank {peer}，而编号只有 0 到 {last}{hint}",
    ),
    "empty": (
        "{at}yields a swap that neither sends nor receives; give it to=, frm= or both",
        "{at}yield 的 Swap 既不发也不收；请给出 to=、frm= 或两者",
    ),
    "payload": (
        "{at}sends {got}; a message is a chunk x[c], or consecutive chunks x[a:b]",
        "{at}发送的是 {got}；一条消息是一个块 x[c]，或连续的几块 x[a:b]",
    ),
    "like": (
        "{at}waits for something like {got}; like= must be the chunk x[c], or the "
        "chunks x[a:b], that the message has to fit",
        "{at}等待的消息由 like={got} 描述；like= 应是与消息形状相同的块 x[c] 或 x[a:b]",
    ),
    # What it does with chunks
    "arithmetic": (
        "{at}uses {sign} on a chunk; chunks may be added to each other, stored and "
        "sent, and nothing else",
        "{at}对块用了 {sign}；块只能相加、存放和发送",
    ),
    "operand": (
        "{at}adds {got} to a chunk; only chunks can be added to it",
        "{at}把 {got} 加到块上；只有块才能与块相加",
    ),
    "nothing": (
        "{at}uses what arrived, but nothing was asked for: this swap has no frm=",
        "{at}使用了收到的内容，但它并没有要求接收：这个 Swap 没有 frm=",
    ),
    "stored": (
        "{at}puts {got} into x; only a chunk may be put there",
        "{at}把 {got} 放进 x；那里只能放块",
    ),
    "index": (
        "{at}uses chunk {got} of x, which has the chunks 0 to {last}",
        "{at}用到 x 的第 {got} 块，而 x 只有第 0 到 {last} 块",
    ),
    "forged": (
        "{at}makes a chunk by hand; chunks come from x and from messages only",
        "{at}自己造了一个块；块只能来自 x 和收到的消息",
    ),
    "foreign": (
        "{at}uses a chunk of rank {other} that no message has brought: only messages "
        "move chunks, not globals and not closures",
        "{at}用了 rank {other} 的块，而没有消息把它送来：块只能靠消息传递，不能靠全局变量或闭包",
    ),
    "list": (
        "{at}reaches into the list x of rank {other}; a program may only use its own",
        "{at}动用了 rank {other} 的列表 x；每个 rank 只能用自己的",
    ),
    "changed": (
        "{at}changes a chunk from within ({name}); chunks may only be added, stored and sent",
        "{at}从内部改动了块（{name}）；块只能相加、存放和发送",
    ),
    "exception": (
        "{at}the program fails: {error}",
        "{at}程序出错：{error}",
    ),
    "returned": (
        "rank {rank} returns {got}; a reduce-scatter returns the chunk that the rank owns, one of "
        "0 to {last}, or a list of them",
        "rank {rank} 返回了 {got}；reduce-scatter 应返回该 rank 持有的块号（0 到 {last}），"
        "或块号的列表",
    ),
    "owners": (
        "chunk {chunk} is owned by {holders} at the end; exactly one rank must return it",
        "结束时持有第 {chunk} 块的：{holders}；每一块应当恰好由一个 rank 返回",
    ),
    # What becomes of the sums
    "twice": (
        "first wrong hop: {hop}; on {holder}: {who} is in it twice{code}",
        "第一处出错的传输：{hop}；{holder}：{who} 被算了两次{code}",
    ),
    "mixed": (
        "first wrong hop: {hop}; on {holder}: another chunk was put into it{code}",
        "第一处出错的传输：{hop}；{holder}：放进了别的块{code}",
    ),
    "junk": (
        "first wrong hop: {hop}; on {holder}: added to what was there before, which is nobody's "
        "share{code}",
        "第一处出错的传输：{hop}；{holder}：加到了原有的内容上，而那不是任何 rank 的数据{code}",
    ),
    "lost": (
        "first wrong hop: {hop}; on {holder}: {who} is no longer in it{code}",
        "第一处出错的传输：{hop}；{holder}：{who} 的那一份丢了{code}",
    ),
    "early": (
        "first wrong hop: {hop}; it leaves without {who}, which rank {rank} had for chunk "
        "{chunk}{code}",
        "第一处出错的传输：{hop}；发出时缺了 {who} 的那一份，"
        "而 rank {rank} 已经有第 {chunk} 块的这一份{code}",
    ),
    "dropped": (
        "first wrong hop: {hop}; rank {rank} does nothing with what arrived, and chunk {chunk} "
        "ends without {who}{code}",
        "第一处出错的传输：{hop}；rank {rank} 没有用收到的内容，第 {chunk} 块最后缺 {who}{code}",
    ),
    "untaken": (
        "first wrong hop: {hop}; it leaves without {who}, which rank {other} offers and "
        "rank {rank} never takes{code}",
        "第一处出错的传输：{hop}；发出时缺了 {who} 的那一份：rank {other} 要发给它，"
        "rank {rank} 却一直没有接收{code}",
    ),
    "poor": (
        "first wrong hop: {hop}; it brings too little, and rank {last} ends without {who}{code}",
        "第一处出错的传输：{hop}；带来的不全，rank {last} 结束时还缺 {who}{code}",
    ),
    "never": (
        "rank {rank} stops {after}; chunk {chunk} of rank {rank} still lacks {who}, {source}",
        "rank {rank} {after}就结束了；它的第 {chunk} 块还缺 {who}，{source}",
    ),
    "below": (
        "the goal is reached, but only {sent} of the array was sent, and {least} is the least: "
        "something arrived that no message brought",
        "目标达到了，但总共只发送了整个数组的 {sent}，而下界是 {least}：有内容不是由消息送来的",
    ),
    "uneven": (
        "{hop_at}: rank {rank} expects a message like chunk {like}, but chunk {chunk} arrives; "
        "where p does not divide the length, the two differ in size",
        "{hop_at}：rank {rank} 期待的消息与第 {like} 块同形，收到的却是第 {chunk} 块；"
        "长度不能被 p 整除时，两块大小不同",
    ),
    # How the ranks fit together, and whether they end
    "stuck": (
        "nothing can move in step {next}: {wants}{ended}{odd}{code}",
        "第 {next} 步什么也动不了：{wants}{ended}{odd}{code}",
    ),
    "misfit": (
        "{misfit} sends {sent} to rank {to}, which expects {expected}{odd}{code}",
        "{misfit} 把{sent}发给 rank {to}，后者期待的是 {expected}{odd}{code}",
    ),
    "budget": (
        "stopped in step {steps} after {budget} messages, far more than {ranks_in_all} need",
        "已在第 {steps} 步停止：{budget} 条消息远多于 {size} 个 rank 所需",
    ),
    "timeout": (
        "{at}the program was stopped after {seconds} s: it computes on and on, without a yield",
        "{at}程序运行 {seconds} 秒后被停止：它一直在计算，不再 yield",
    ),
    "crashed": (
        "the process of the program ended before it had a verdict: {ending}",
        "运行程序的进程在得出结论前就结束了：{ending}",
    ),
}

_LANGUAGES = ("en", "zh")


def sentence(verdict: "Verdict", language: str = "en") -> str:
    """A verdict in one sentence.

    Raises:
        ValueError: a language that is neither `"en"` nor `"zh"`.
    """
    if language not in _LANGUAGES:
        raise ValueError(f"language is {language!r}; it must be one of {', '.join(_LANGUAGES)}")
    say = _ZH if language == "zh" else _EN
    template = SENTENCES[verdict.kind][_LANGUAGES.index(language)]
    return template.format_map(_Fields(verdict, say))


class _English:
    """How a part of a sentence is said."""

    comma, semicolon, colon = ", ", "; ", ": "

    def at(self, rank: int | None, step: int | None, line: int | None) -> str:
        parts = [f"rank {rank}"] if rank is not None else []
        parts += [] if step is None else [f"step {step}" if step else "before any message"]
        parts += [f"line {line}"] if line is not None else []
        return self.comma.join(parts) + self.colon if parts else ""

    def hop(self, step: int, source: int, destination: int, chunk: int) -> str:
        return f"{self.step(step, source, destination)}, chunk {chunk}"

    def step(self, step: int, source: int, destination: int) -> str:
        return f"step {step}, rank {source} → rank {destination}"

    def before(self) -> str:
        return "before any message"

    def after(self, step: int) -> str:
        return f"after step {step}" if step else "before its first step"

    def none(self, step: int) -> str:
        return f"step {step}, where nothing arrived"

    def holder(self, rank: int, chunk: int) -> str:
        return f"rank {rank}, chunk {chunk}"

    def chunks(self, first: int, last: int) -> str:
        return f"chunk {first}" if first == last else f"chunks {first} to {last}"

    def message(self) -> str:
        return "a message"

    def kind(self, shape: str, dtype: str, parts: int, phase: str | None) -> str:
        one = self.count(parts, dtype) if dtype == "chunk" else f"{shape} {dtype}"
        return one + self.phase(phase)

    def phase(self, phase: str | None) -> str:
        return "" if phase is None else f" in phase {phase!r}"

    def sent(self, message: str, kind: str) -> str:
        return f"{message} of {kind}"

    def ranks(self, ranks: Sequence[int]) -> str:
        return f"rank {', '.join(map(str, ranks))}" if ranks else "no rank"

    def count(self, number: int, word: str) -> str:
        return f"{number} {word}{'' if number == 1 else 's'}"

    def want(self, wants: Sequence[Any]) -> str:
        return " and ".join(
            f"offers {self.chunks(*what) if what else self.message()} to rank {peer}"
            if sends
            else f"waits for rank {peer}"
            for sends, peer, what, _ in wants
        )

    def more(self, number: int) -> str:
        return f"and {number} more ranks"

    def ended(self, ranks: Sequence[int]) -> str:
        return f"; finished: {self.ranks(ranks)}" if ranks else ""

    def code(self, line: int | None) -> str:
        return "" if line is None else f" (line {line})"

    def odd(self, rank: int | None, step: int) -> str:
        if rank is None:
            return "all ranks do the same, and so each waits for another"
        return f"first out of turn: rank {rank} in step {step}"

    def modulo(self) -> str:
        return "; is `% size` missing?"

    def source(self, source: int | None, ranks: Sequence[int], rank: int) -> str:
        if source is None:
            return "which is nowhere to be had"
        return f"which rank {source} holds: the hop rank {source} → rank {rank} never came"


class _Chinese(_English):
    comma, semicolon, colon = "，", "；", "："

    def at(self, rank: int | None, step: int | None, line: int | None) -> str:
        parts = [f"rank {rank}"] if rank is not None else []
        parts += [] if step is None else [f"第 {step} 步" if step else "收发之前"]
        parts += [f"第 {line} 行"] if line is not None else []
        return self.comma.join(parts) + self.colon if parts else ""

    def hop(self, step: int, source: int, destination: int, chunk: int) -> str:
        return f"{self.step(step, source, destination)}，第 {chunk} 块"

    def step(self, step: int, source: int, destination: int) -> str:
        return f"第 {step} 步，rank {source} → rank {destination}"

    def before(self) -> str:
        return "收发之前"

    def after(self, step: int) -> str:
        return f"在第 {step} 步之后" if step else "一步未走"

    def none(self, step: int) -> str:
        return f"第 {step} 步（没有收到消息）"

    def holder(self, rank: int, chunk: int) -> str:
        return f"rank {rank} 的第 {chunk} 块"

    def chunks(self, first: int, last: int) -> str:
        return f"第 {first} 块" if first == last else f"第 {first} 到 {last} 块"

    def message(self) -> str:
        return "一条消息"

    def kind(self, shape: str, dtype: str, parts: int, phase: str | None) -> str:
        one = f"{parts} 块" if dtype == "chunk" else f"{shape} {dtype}"
        return one + self.phase(phase)

    def phase(self, phase: str | None) -> str:
        return "" if phase is None else f"（环节 {phase!r}）"

    def sent(self, message: str, kind: str) -> str:
        return f"{message}（{kind}）"

    def ranks(self, ranks: Sequence[int]) -> str:
        return f"rank {'、'.join(map(str, ranks))}" if ranks else "无"

    def count(self, number: int, word: str) -> str:
        return str(number)

    def want(self, wants: Sequence[Any]) -> str:
        return "，".join(
            f"要把{self.chunks(*what) if what else self.message()}发给 rank {peer}"
            if sends
            else f"在等 rank {peer}"
            for sends, peer, what, _ in wants
        )

    def more(self, number: int) -> str:
        return f"另有 {number} 个 rank"

    def ended(self, ranks: Sequence[int]) -> str:
        return f"；已结束：{self.ranks(ranks)}" if ranks else ""

    def code(self, line: int | None) -> str:
        return "" if line is None else f"（第 {line} 行）"

    def odd(self, rank: int | None, step: int) -> str:
        if rank is None:
            return "所有 rank 做法相同，于是都在互相等待"
        return f"最先不合拍的是第 {step} 步的 rank {rank}"

    def modulo(self) -> str:
        return "；是否漏了 `% size`？"

    def source(self, source: int | None, ranks: Sequence[int], rank: int) -> str:
        if source is None:
            return "而哪里都没有它"
        return f"而 rank {source} 有它：rank {source} → rank {rank} 的传输没有发生"


_EN, _ZH = _English(), _Chinese()
_SHOWN = 8  # ranks of a deadlock that are named one by one


class _Fields(dict):
    """What stands in the braces: looked up when a sentence asks for it."""

    def __init__(self, verdict: "Verdict", say: _English):
        super().__init__(vars(verdict) | verdict.what)
        self.verdict, self.say, self.what = verdict, say, verdict.what

    def __getitem__(self, name: str) -> Any:
        made = getattr(self, f"_{name}", None)
        return super().__getitem__(name) if made is None else made()

    def _at(self) -> str:
        return self.say.at(self.verdict.rank, self.verdict.step, self.verdict.line)

    def _hop(self) -> str:
        v = self.verdict
        if v.hop is not None:
            return self.say.hop(v.step or 0, *v.hop, v.chunk or 0)
        return self.say.none(v.step) if v.step else self.say.before()

    def _hop_at(self) -> str:
        return self.say.step(self.verdict.step or 0, *(self.verdict.hop or (0, 0)))

    def _misfit(self) -> str:
        step, source, _ = self.what["misfit"]
        return self.say.at(None, step, None) + f"rank {source}"

    def _to(self) -> int:
        return self.what["misfit"][2]

    def _holder(self) -> str:
        return self.say.holder(self.verdict.rank or 0, self.verdict.chunk or 0)

    def _who(self) -> str:
        return self.say.ranks(self.what["ranks"])

    _holders = _who

    def _last(self) -> int:
        return self.what.get("last", self.verdict.size - 1)

    def _after(self) -> str:
        return self.say.after(self._last())

    def _count_of(self) -> str:
        count = self.what["count"]
        return f"{self.say.count(count, 'rank')} hold{'s' if count == 1 else ''}"

    def _hint(self) -> str:
        peers = ("-1", str(self.verdict.size))
        return self.say.modulo() if self.what["peer"] in peers else ""

    def _code(self) -> str:
        return self.say.code(self.verdict.line)

    def _source(self) -> str:
        v = self.verdict
        return self.say.source(v.hop[0] if v.hop else None, self.what["ranks"], v.rank or 0)

    def _odd(self) -> str:
        v = self.verdict
        if v.kind == "misfit" and (v.step, v.rank) == tuple(self.what["misfit"][:2]):
            return ""
        return self.say.semicolon + self.say.odd(v.rank, v.step or 0)

    def _next(self) -> int:
        return self.what["moved"] + 1

    def _wants(self) -> str:
        wants, colon = self.what["wants"], " "
        told = [f"rank {rank}{colon}{self.say.want(halves)}" for rank, halves in wants[:_SHOWN]]
        if len(wants) > _SHOWN:
            told.append(self.say.more(len(wants) - _SHOWN))
        return self.say.semicolon.join(told)

    def _ended(self) -> str:
        return self.say.ended(self.what["ended"])

    def _sent(self) -> str:
        sent = self.what["sent"]
        if isinstance(sent, str):
            return sent
        message = self.what["message"]
        named = self.say.chunks(*message) if message else self.say.message()
        if sent["dtype"] == "chunk":
            return named + self.say.phase(self._phase("sent"))
        return self.say.sent(named, self._kind("sent"))

    def _expected(self) -> str:
        return self._kind("expected")

    def _kind(self, side: str) -> str:
        one = self.what[side]
        return self.say.kind(one["shape"], one["dtype"], one["parts"], self._phase(side))

    def _phase(self, side: str) -> str | None:
        """The phase of a side, where it is not the other's."""
        differ = self.what["sent"]["phase"] != self.what["expected"]["phase"]
        return self.what[side]["phase"] if differ else None

    def _goal(self) -> str:
        return self._proof().goal.replace("_", "-")

    def _steps(self) -> Any:
        return self.what["steps"] if self.what else self.say.count(self._proof().steps, "step")

    def _ranks_in_all(self) -> str:
        return self.say.count(self.verdict.size, "rank")

    def _busiest(self) -> Fraction:
        return max(self._proof().sent)

    def _bound(self) -> Fraction:
        return self._proof().bound

    def _proof(self) -> Any:
        return self.verdict.proof
