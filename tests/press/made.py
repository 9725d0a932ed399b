"""Makes a page."""


def page(language, word):
    told = {"en": f"The word is {word}.", "zh": f"这个词是 {word}。"}[language]
    return f'# {word} {{ #{word} }}\n\n```python exec="true" id="b"\nprint(1 + 1)\n```\n\n{told}\n'
