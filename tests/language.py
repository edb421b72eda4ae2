"""Words that standard technical English replaces, and where they still occur in what people read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Code, docs, notebook sources and templates; generated notebooks and students' answers are not our language.
FILES = (
    *("*.md", "docs/**/*.md", "docs/**/*.yml", "docs/*.py", "grader/**/*.py", "grader/**/*.pyi"),
    *("grader/templates/**/*.*", "solutions/*.py", "tests/hidden/*.py"),
)


@dataclass(frozen=True)
class Word:
    """A word or phrase that must not be used more often than now.

    Attributes:
        name: how messages call it.
        say: what to write instead.
        pattern: a regular expression that ignores case and matches whole words. A space stands for any white
            space, so a phrase is found across the lines of a text or comment.
        most: how often it still occurs. The number must only fall.
    """

    name: str
    say: str
    pattern: str
    most: int = 0

    def places(self, text: str) -> list[int]:
        """The line of each use in a text, from 1."""
        blanks = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:\#:?[ \t]*)?)"
        pattern = self.pattern.replace(" ", blanks)
        found = re.finditer(rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z])", text, re.IGNORECASE)
        return [text.count("\n", 0, match.start()) + 1 for match in found]


def _value(word: str) -> str:
    """The pattern of a word that does not count as a value or field of JSON, CSV or the command line."""
    return rf"(?<![.\"'`_]){word}(?![\"'`_:=])"


def _named(*words: str) -> str:
    """The pattern of words that count only as names in code, alone or as part of a longer name."""
    either = "|".join(words)
    return rf"(?:{either})(?=[_\[(=]|\.[a-z_])|(?<=[_.])(?:{either})"


WORDS = (
    Word("ordinary", "typical", "ordinary"),
    Word("unusual kind", "variation", "unusual kinds?|kinds? of (?:a )?factors?"),
    Word("world", "setup", "worlds?"),
    Word(
        "turn",
        "call sequence",
        rf"(?:a|each|every|the|one|first|second|last|next|further|other) turns?|{_named('turns?')}",
    ),
    Word("kept", "side effects", rf"(?:assert_)?{_named('kept')}", most=6),
    Word("stays as it was", "unchanged", "(?:stay|stays|stayed|left) as (?:it|they) (?:is|are|was|were)"),
    Word("moved", "perturbed", rf"{_named('moved')}|(?:numbers|results|facts?) moved?"),
    Word("fact", "observation", r"(?<!in\s)facts?"),
    Word("waiting loss", "a pending backward", "waiting loss(?:es)?|loss(?:es)? (?:that )?waits?"),
    Word("too late", "not run", r"(?<!\")too(?: |_)late"),
    Word("weighed", "measured memory", "weigh(?:ed|s|ing)?"),
    Word("told, tells", "message, reported", "told|tells"),
    Word("plain data", "a tensor that doesn't require grad", "plain data"),
    Word("computed tensor", "a non-leaf", "computed tensors?"),
    Word("memory of its own", "its own storage", "memory of (?:its|their) own"),
    Word("all digits", "full precision", "all digits"),
    Word("memory of an optimizer", "optimizer state", "memory of (?:an|the) optimizers?"),
    Word(
        "has no history",
        "is not connected to the graph",
        "(?:has|had|have|having|is) (?:no|without a?) history",
    ),
    Word("cage", "sandbox", "cages?|(?:un)?caged"),
    Word("protection", "sandbox", rf"{_value('protection')}|ProtectionErrors?|_protection"),
    Word("border", "trust boundary", "(?<!-)borders?(?![-:=_])(?! style)"),
    Word("house", "architecture, package", "houses?"),
    Word("master", "notebook source", r"(?<![-|])masters?"),
    Word("hand in", "submit", r"(?<!by\s)(?<!\")hand(?:s|ed|ing)?(?: |-)in|hand_?in|handing"),
    Word("handed out", "starter code", "hand(?:s|ed|ing)?(?: |_|-)out"),
    Word("given code", "starter code", "given code"),
    Word("stub", "starter code", r"(?-i:(?<!\#\s)(?<!--answer\s)(?<![\"'`])[Ss]tubs?(?![\"'`]))"),
    Word("function below", "starter code", "functions? below"),
    Word("untouched", "starter code", _value("untouched")),
    Word("absent", "missing", f"{_value('absent')}|absences?"),
    Word("left aside", "ignored", "(?:leave|leaves|left) aside"),
    Word("end task", "bonus task", f"end tasks?|{_value('END_TASK')}"),
    Word("accepted answer", "known-correct answer", "accepted answers?"),
    Word("wrong answer", "known-wrong answer", "(?<!known-)wrong answers?"),
    Word("equal mutant", "equivalent mutant", "equal mutants?|mutants? (?:that )?(?:is|are) equal"),
    Word("mine, its", "seen, expected", r"mine|its(?=\[|\.[a-z])", most=2),
    Word("Terms", "judging rules", "(?-i:Terms)"),
    Word("Standing", "lateness and adjustments", "(?-i:Standing)"),
    Word("Night", "clone snapshot", "(?-i:Night)"),
    Word("prefers", "rank", "prefers(?!-color-scheme)"),
    Word("as_now", "up to date", "as_now"),
    Word("measured", "with tolerances", _named("measured")),
    Word("alone", "dedicated worker", _named("alone")),
    # Syntax that readers of modern English stumble over.
    Word("anew", "again", "anew"),
    Word("mend", "fix", "mend(?:s|ed|ing)?"),
    Word("whoever", "anyone who", "whoever"),
    Word("is to be", "must", "(?:is|are) to be"),
)


def all_places() -> Mapping[str, list[str]]:
    """The file and line of each use, by word."""
    paths = {path for pattern in FILES for path in ROOT.glob(pattern) if path.is_file()}
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}
    return {
        word.name: [f"{file}:{line}" for file, text in texts.items() for line in word.places(text)]
        for word in WORDS
    }
