"""Every exercise has its words in both languages, and the same code in them."""

import re
from pathlib import Path

import pytest

from zerolit.exercises import NAMES, find
from zerolit.exercises.texts import text_of


@pytest.mark.parametrize("exercise", NAMES)
def test_both_languages_say_every_part(exercise):
    for language in ("en", "zh"):
        text = text_of(find(exercise), language)
        assert all([text.title, text.question, text.predict, *text.hints, text.point])


@pytest.mark.parametrize("exercise", NAMES)
def test_the_question_names_the_function_and_what_it_takes(exercise):
    """As the skeleton does; what both languages call it is the same."""
    for language in ("en", "zh"):
        assert f"`{find(exercise).takes}`" in re.sub(
            r"\s+", " ", text_of(find(exercise), language).question
        )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("exercise", NAMES)
def test_the_section_that_it_belongs_to_names_it(exercise, language):
    page, section = find(exercise).place.split("#")
    text = (Path(__file__).parents[2] / "docs" / language / page).read_text()
    headings = re.split(r"^#+ .*\{ #([\w-]+) \}$", text, flags=re.M)  # id, text, id, text, …
    sections = dict(zip(headings[1::2], headings[2::2], strict=True))
    number = find(exercise).number
    assert re.search(rf"\[\D*{number}\]\(lab-\w+\.md#{exercise}\)", sections[section])
