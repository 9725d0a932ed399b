"""What labs say in every exercise, in English and in Chinese."""

WORDS = {
    "predict": ("**Before you start, write down:** ", "**先写下：**"),
    "hint": ("Hint {n}", "提示 {n}"),
    "solution": ("A solution, and what the judge says of it", "一种解法，以及评判结果"),
    "start": (
        "Start from here; the last line asks the judge:",
        "从这里开始；最后一行请评判程序评判：",
    ),
    "open": (
        "About {minutes} minutes. [Download the notebook]({name}.ipynb){{ download }}, or copy it "
        "with `zerolit lab {n}`. This page shows it solved, folded behind each question. In a "
        "script: `from zerolit.exercises import check`, and `print(check(…))`.",
        "大约 {minutes} 分钟。[下载 notebook]({name}.ipynb){{ download }}，或用 "
        "`zerolit lab {n} --lang zh` 复制一份。本页是解好的版本，答案都折叠在题目后面。"
        "在脚本里：`from zerolit.exercises import check`，再 `print(check(…))`。",
    ),
    "belongs": (" It belongs to [{chapter}]({place}).", "相关内容见 [{chapter}]({place})。"),
}


def say(key: str, language: str, **what: object) -> str:
    """A sentence in `"en"` or `"zh"`, filled in."""
    return WORDS[key][("en", "zh").index(language)].format(**what)
