"""Sixteen bugs that people really wrote, each as one passage of the code that the course runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from zerolit.comm import ring
from zerolit.zero import stages, task
from zerolit.zero.train import make_worker, share_out

from .alter import altered, sources


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        function: whose source has the passage.
        old, new: the passage, right and wrong.
        stage: where it shows.
        titles: what it does, in English and in Chinese.
        thread: of a public tracker, as "owner/repository#number".
        how: further settings that it needs to show.
        tied: whether the model's head uses the embedding's weights.
    """

    name: str
    function: Callable
    old: str
    new: str
    stage: int
    titles: tuple[str, str]
    thread: str
    how: Mapping[str, Any] = field(default_factory=dict)
    tied: bool = False

    def title(self, language: str) -> str:
        """What it does, in `"en"` or `"zh"`."""
        return self.titles[("en", "zh").index(language)]

    @property
    def address(self) -> str:
        """Of its thread; GitHub leads from a pull request's to the right one."""
        repository, number = self.thread.split("#")
        return f"https://github.com/{repository}/issues/{number}"


_SYNC = """        yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ
        yield from all_gather(w, unit, whole, "gradients")  # (p-1)/p·Ψ
"""
_UPDATE = """        update(w, unit)
        yield from all_gather(w, unit, unit["parameters"])  # (p-1)/p·Ψ
"""
_GATHER = '        yield from all_gather(w, unit, unit["parameters"])\n        update(w, unit)\n'
_REDUCE = "        yield from reduce_scatter(w, unit, whole, tokens)  # (p-1)/p·Ψ\n"
_DROP = "            h = run_unit(unit, h)[1].detach()\n            drop(unit)\n"
_SPLIT = "zip(x.tensor_split(size), y.tensor_split(size), strict=True)"
_LOSS = "return loss / tokens if"

_BUGS = (
    Bug(
        "mean-of-means",
        stages.count_tokens,
        "return count.item()",
        "return w.size * sum(y.numel() for _, y in batches)",
        0,
        (
            "every rank divides by its own tokens, then the means are averaged",
            "各 rank 先除以自己的 token 数，再对均值取平均",
        ),
        "huggingface/transformers#34242",
    ),
    Bug(
        "divided-twice",
        stages.divided_loss,
        _LOSS,
        "return loss / tokens / w.size if",
        0,
        ("the gradient is divided by p once more", "梯度又除了一次 p"),
        "facebookresearch/fairseq#494",
    ),
    Bug(
        "never-averaged",
        stages.divided_loss,
        _LOSS,
        "return loss / tokens * w.size if",
        0,
        (
            "the ranks' mean gradients are summed, not averaged",
            "各 rank 的平均梯度只求和，没有平均",
        ),
        "ultralytics/ultralytics#18616",
    ),
    Bug(
        "same-data",
        share_out,
        _SPLIT,
        "size * [(x.tensor_split(size)[0], y.tensor_split(size)[0])]",
        0,
        ("all ranks read the same sequences", "所有 rank 读到同样的序列"),
        "coqui-ai/Trainer#144",
    ),
    Bug(
        "own-start",
        task._units,
        "make_model(config)",
        "make_model(config, int(torch.randint(1000, ())))",
        0,
        ("every rank draws its own initial parameters", "各 rank 各自随机初始化参数"),
        "facebookresearch/detr#544",
    ),
    Bug(
        "never-reduced",
        stages.stage0,
        _SYNC,
        "        pass\n",
        0,
        ("the gradients are not summed over the ranks at all", "梯度根本没有在 rank 之间求和"),
        "deepspeedai/DeepSpeed#855",
    ),
    Bug(
        "overwritten",
        ring.reduce_scatter,
        "x[receive] += yield swap",
        "x[receive] = yield swap",
        0,
        ("what arrives is stored in the place of being added", "收到的块被直接写入，而不是累加"),
        "open-mpi/ompi#9482",
    ),
    Bug(
        "other-chunk",
        stages.reduce_scatter,
        "way, owner=0)",
        "way, owner=1)",
        1,
        (
            "rank r updates chunk r, and has the sum of chunk r + 1",
            "rank r 更新第 r 块，手里却是第 r + 1 块的和",
        ),
        "Xilinx/ACCL#37",
    ),
    Bug(
        "gathered-too-early",
        stages.stage1,
        _UPDATE,
        _GATHER,
        1,
        ("parameters are gathered before they are updated", "先收集参数，后更新"),
        "deepspeedai/DeepSpeed#5059",
    ),
    Bug(
        "last-micro-batch",
        stages.keep_share,
        'unit["gradients"].add_(mine)',
        'unit["gradients"].copy_(mine)',
        2,
        ("only the last micro-batch's gradient is kept", "只留下最后一个 micro-batch 的梯度"),
        "allenai/open-instruct#1498",
        {"accumulate": 2},
    ),
    Bug(
        "local-clip",
        stages.clip_shares,
        "clip_factor(w.recipe.clip, squares)",
        "clip_factor(w.recipe.clip, mine)",
        1,
        ("every rank clips by the norm of its own share", "各 rank 按自己那一段的范数裁剪"),
        "pytorch/torchtitan#766",
        {"clip": 0.25},
    ),
    Bug(
        "tied-once",
        stages.unit_backward,
        "owner.lend(index, grad)",
        "pass",
        0,
        ("tied weights get the gradient of one use only", "共享权重只得到一次使用的梯度"),
        "facebookresearch/lingua#75",
        tied=True,
    ),
    Bug(
        "bf16-sum",
        stages.reduce_scatter,
        "unit.shares(flat)",
        "unit.shares(flat.bfloat16())",
        2,
        ("gradients are summed in bfloat16", "用 bfloat16 对梯度求和"),
        "pytorch/pytorch#106395",
    ),
    Bug(
        "whole-optimizer",
        make_worker,
        "unit.optimizer(n, ",
        "unit.optimizer(unit.layout.padded, ",
        1,
        ("every rank keeps m and v of all parameters", "各 rank 保存所有参数的 m 和 v"),
        "deepspeedai/Megatron-DeepSpeed#239",
    ),
    Bug(
        "never-released",
        stages.stage3,
        _DROP,
        "            h = run_unit(unit, h)[1].detach()\n",
        3,
        ("gathered units stay after their forward pass", "单元收集之后，前向用完不释放"),
        "pytorch/pytorch#149029",
    ),
    Bug(
        "all-reduced-first",
        stages.stage1,
        _REDUCE,
        _REDUCE + '        yield from all_gather(w, unit, whole, "gradients")\n',
        1,
        ("gradients are all-reduced, then a share is used", "梯度先 all-reduce，再只用其中一段"),
        "deepspeedai/DeepSpeed#156",
    ),
)
BUGS = {bug.name: bug for bug in _BUGS}


def find(name: str) -> Bug:
    """The bug of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in BUGS:
        raise ValueError(f"bug is {name!r}; it must be one of {', '.join(BUGS)}")
    return BUGS[name]


def diff(bug: Bug) -> str:
    """Where the bug is, and what it changes there, as `diff -u` writes it."""
    right, wrong = (text.splitlines() for text in sources(bug.function, bug.old, bug.new))
    _, _, *lines = unified_diff(right, wrong, n=0, lineterm="")
    where = f"{bug.function.__module__}.{bug.function.__qualname__}"
    return "\n".join([where, *(line for line in lines if not line.startswith("@@"))])


@contextmanager
def broken(name: str) -> Iterator[None]:
    """While it lasts, the course's own code has this bug.

    Raises:
        ValueError: there is none of this name.
    """
    bug = find(name)
    with altered(bug.function, bug.old, bug.new):
        yield
