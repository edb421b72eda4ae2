"""The language of the project: the number of words that standard technical English replaces only falls."""

import re

import language
import pytest
from language import WORDS

BY_NAME = {word.name: word for word in WORDS}


@pytest.fixture(scope="module")
def found():
    return language.all_places()


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_a_replaced_word_only_becomes_rarer(word, found):
    """Each word occurs exactly as often as its `most` says, so that the number can only fall."""
    uses = "\n".join(found[word.name])
    assert len(found[word.name]) <= word.most, f"write {word.say!r} instead of {word.name!r}:\n{uses}"
    assert len(found[word.name]) == word.most, f"lower the `most` of {word.name!r} in tests/language.py"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("ordinary", "assert_ordinary(f)\n# Ordinary inputs, extraordinary ones", [1, 2]),
        (
            "hand in",
            "Hand it in, by hand in time.\nwhat was handed\n    # in, a hand-in cell and HandIn",
            [2, 3, 3],
        ),
        ("too late", 'the latest, related, late\nFailure.TOO_LATE = "too late"', [2]),
        ("fact", "in fact, a factor of facts.py", [1]),
        ("weighed", "a weight, weighted\nit weighs", [2]),
        ("untouched", 'status == "untouched"\nresult.untouched = an untouched function', [2]),
        ("protection", '"protection": protection\nprotection: str\nthe Protection in force', [1, 3]),
        ("absent", 'status "absent", who is absent', [1]),
        ("stub", "# STUB\nthe stub of `stub`\ntry glu --answer stub", [2]),
        ("master", "name-master, main|master\nthe master", [2]),
        ("prefers", "prefers-color-scheme: dark\nprefers", [2]),
        ("border", "border: 1px; border-left: 0\nthe border", [2]),
        ("mine, its", "its value, mine\nits[0]", [1, 2]),
        ("alone", "it works alone. Alone,\nalone=True", [2]),
        ("Terms", "in terms of\nTerms()", [2]),
    ],
)
def test_words_are_found_and_interfaces_are_not(name, text, lines):
    """Whole words count, also across lines; longer words, and values of JSON, CSV and CSS, don't count."""
    assert BY_NAME[name].places(text) == lines


def test_every_pattern_finds_its_own_word():
    for word in WORDS:
        for form in word.name.split(", "):
            uses = (form, f"{form}.x", f"{form}[0]", f"a {form}s", f"numbers {form}")
            assert any(map(word.places, uses)), word


def test_the_language_is_that_of_all_that_people_read():
    """Code, templates, docs, notebook sources and hidden checks are read; generated notebooks are not."""
    paths = {
        path.relative_to(language.ROOT).as_posix() for g in language.FILES for path in language.ROOT.glob(g)
    }
    assert {"README.md", "grader/notebook.py", "docs/security.md", "grader/templates/report.html"} <= paths
    assert {"solutions/01_leaves.py", "tests/hidden/test_01_leaves.py"} <= paths
    assert not [path for path in paths if re.match(r"assignments/|tests/answers/|submissions/", path)]
