"""Everything that a beginner gets wrong ends in one sentence, in English and in Chinese."""

import json
from contextlib import suppress

import pytest

from zerolit.comm import ProofError, Swap, Verdict, collective, examine, prove, ring
from zerolit.comm.verdict import from_plain
from zerolit.comm.words import SENTENCES as TEMPLATES

from .sentences import SENTENCES
from .wrong import CHANGES, program, source

ELSEWHERE = {  # kinds that need more than a change of one line; tested by these names
    "source", "no_program", "unpicklable", "timeout", "crashed",  # test_judge
    "right", "below", "untaken", "poor",  # here
}  # fmt: skip


def load(changes):
    names = {"Swap": Swap, "collective": collective}
    exec(compile(source(changes), "<program>", "exec"), names)
    return names["program"]


def test_the_control_is_right():
    assert examine(program([]), 3).right and examine(load([]), 3).right


def test_every_kind_is_pinned():
    assert set(SENTENCES) == set(CHANGES)
    assert {kind for kind, *_ in SENTENCES.values()} | ELSEWHERE == set(TEMPLATES)


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_has_its_sentence(name):
    kind, english, chinese = SENTENCES[name]
    verdict = examine(load(CHANGES[name]), 3)
    assert (verdict.kind, verdict.sentence(), verdict.sentence("zh")) == (kind, english, chinese)
    with pytest.raises(ProofError) as told:
        prove(load(CHANGES[name]), 3)
    assert told.value.verdict == verdict and str(told.value) == english


@pytest.mark.parametrize("name", CHANGES)
def test_a_verdict_passes_through_json(name):
    verdict = examine(load(CHANGES[name]), 3)
    again = from_plain(json.loads(json.dumps(verdict.plain())))
    assert [again.sentence(say) for say in ("en", "zh")] == [*SENTENCES[name][1:]]


def test_what_is_right_is_said_too():
    verdict = examine(ring.all_reduce, 4)
    assert verdict.sentence() == (
        "right: all-reduce on 4 ranks in 6 steps; the busiest sends 3/2 of the array, and no less "
        "than 3/2 is possible"
    )
    assert verdict.sentence("zh") == (
        "正确：4 个 rank 用 6 步完成 all-reduce；发送最多的 rank 发出整个数组的 3/2，下界是 3/2"
    )
    assert from_plain(json.loads(json.dumps(verdict.plain()))) == verdict


@pytest.mark.parametrize(
    ("verdict", "english", "chinese"),
    [
        (
            Verdict("below", 4, what={"sent": "1/4", "least": "6"}),
            "the goal is reached, but only 1/4 of the array was sent, and 6 is the least: "
            "something arrived that no message brought",
            "目标达到了，但总共只发送了整个数组的 1/4，而下界是 6：有内容不是由消息送来的",
        ),
        (
            Verdict("untaken", 3, 0, 2, (0, 1), 0, {"ranks": [2], "other": 2}, 7),
            "first wrong hop: step 2, rank 0 → rank 1, chunk 0; it leaves without rank 2, which "
            "rank 2 offers and rank 0 never takes (line 7)",
            "第一处出错的传输：第 2 步，rank 0 → rank 1，第 0 块；发出时缺了 rank 2 的那一份："
            "rank 2 要发给它，rank 0 却一直没有接收（第 7 行）",
        ),
        (
            Verdict("poor", 5, 2, 3, (2, 3), 0, {"ranks": [0, 1, 4], "last": 3}),
            "first wrong hop: step 3, rank 2 → rank 3, chunk 0; it brings too little, and rank 3 "
            "ends without rank 0, 1, 4",
            "第一处出错的传输：第 3 步，rank 2 → rank 3，第 0 块；带来的不全，"
            "rank 3 结束时还缺 rank 0、1、4",
        ),
    ],
)  # fmt: skip
def test_rarer_sentences(verdict, english, chinese):
    assert (verdict.sentence(), verdict.sentence("zh")) == (english, chinese)


def test_a_third_language():
    with pytest.raises(ValueError, match="language is 'fr'; it must be one of en, zh"):
        examine(ring.all_reduce, 2).sentence("fr")


def test_a_deadlock_of_many_names_eight():
    @collective("all_reduce", pieces=lambda size: 1)
    def shy(rank, size, x):
        yield Swap(frm=(rank + 1) % size, like=x[0])

    verdict = examine(shy, 40)
    assert "rank 7 waits for rank 8; and 32 more ranks; all ranks do the same" in str(verdict)
    assert "rank 7 在等 rank 8；另有 32 个 rank；所有 rank" in verdict.sentence("zh")


def test_a_program_that_catches_the_refusal_is_refused_all_the_same():
    @collective("all_reduce", pieces=lambda size: size)
    def deaf(rank, size, x):
        with suppress(Exception):
            x[0] / size
        yield from ring.all_reduce(rank, size, x)

    assert examine(deaf, 3).kind == "arithmetic"
