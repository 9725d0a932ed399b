"""When a rank dies: faults injected into real processes, and restarts."""

from functools import cache

from zerolit.engine.faults import (
    FAULTS,
    WHERE,
    killed_and_restarted,
    what_the_launcher_says,
    what_the_others_see,
)
from zerolit.press import EXACT
from zerolit.zero import Run

from .runs import gap
from .table import Column, Table
from .words import Word, Words

_FAULTS = {
    "killed": ("is killed", "被杀"),
    "exits": ("exits", "退出"),
    "raises": ("raises", "抛出异常"),
    "returns early": ("returns early", "提前返回"),
    "hangs": ("hangs", "卡住"),
    "another shape": ("sums another shape", "对另一形状求和"),
    "another dtype": ("sums another dtype", "对另一 dtype 求和"),
    "another collective": ("calls another collective", "调用另一个集合通信"),
}
_SEEN = {
    "closed": ("connection closed or reset", "连接被关闭或重置"),
    "timed out": ("timed out", "超时"),
    "aborted": ("nothing: gloo aborts its process", "什么也看不到：gloo 直接中止它的进程"),
    None: ("nothing: all return", "什么也看不到：全部正常返回"),
}
_WHERE = {
    "forward": ("the forward pass", "前向"),
    "collective": ("a collective", "集合通信中"),
    "optimizer": ("the update", "参数更新"),
    "saving": ("saving a checkpoint", "保存检查点时"),
}
_TOLD = Column("told", "sentence", "our launcher says", "我们的启动器说")


@cache
def _fault(fault: str) -> tuple[str | None, str]:
    return what_the_others_see(fault), what_the_launcher_says(fault, timeout=2)


def faults_table() -> Table:
    """Every fault, injected: what another rank sees, and the launcher's words."""
    caption = Words(
        "Two all-reduces on 3 processes; rank 1 commits the fault in the place of the second.",
        "3 个进程做两次 all-reduce；rank 1 的第二次换成所列的故障。",
    )
    columns = [
        Column("fault", "s", "rank 1", "rank 1"),
        Column("seen", "s", "another rank sees", "其余 rank 看到"),
        _TOLD,
    ]
    rows = []
    for fault in FAULTS:
        seen, told = _fault(fault)
        words = Word(f"fault {fault}", *_FAULTS[fault]), Word(f"seen {seen}", *_SEEN[seen])
        rows.append((*words, told))
    return Table("faults", caption, columns, rows)


_restarted = cache(killed_and_restarted)


def restart_table(whole: Run) -> Table:
    """Rank 1 killed at every place of a step, and a restart beside a run that was never stopped."""
    caption = Words(
        "ZeRO-2 on 3 processes, killed on the way from a checkpoint of step 2 to step 4.",
        "3 个进程上的 ZeRO-2，从第 2 步的检查点训练到第 4 步，途中被杀。",
    )
    columns = [
        Column("killed in", "s", "rank 1 is killed in", "rank 1 在何处被杀"),
        _TOLD,
        Column("restart apart", "g", "restart differs by", "重启后的参数之差", tolerance=EXACT),
    ]
    rows = []
    for where in WHERE:
        told, run = _restarted(where)
        apart = gap(run.parameters, whole.parameters)
        rows.append((Word(f"where {where}", *_WHERE[where]), told, apart))
    return Table("restarts", caption, columns, rows)
