"""Texts for people: students' text made safe for JSON, terminals, pages and paths; rounded numbers."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from html import escape
from itertools import count

# A component may have 255 bytes; the rest is for suffixes and for the temporary names of writers.
LONGEST_FILE_NAME = 200

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# NUL ends a C string, and a lone surrogate (also a byte of a file name that is not UTF-8) has no UTF-8.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_BREAKS_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Characters that change the order in which others are shown, but not the marks that Arabic and Hebrew need.
_REORDERS_TEXT = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")  # but for tabs and ends of lines
# Invisible characters that no script needs: with them, different names would look the same.
_INVISIBLE = re.compile("[\xad\u180e\u200b\u2060-\u2064\ufeff]")
_CODE = re.compile(r"`([^`]+)`")
_MARKDOWN = re.compile(r"[\\`*{}\[\]#|~$@]|(?<!\w)_|_(?!\w)|^[-+=]")
_NUMBERED = re.compile(
    r"^(\d+)(?=[.)](?:\s|$))"
)  # begins a list; a backslash escapes its sign, never a digit
_BACKTICKS = re.compile("`+")
# A bar ends a cell of a table, and some sites look for mentions and HTML even in code.
_ACTS_IN_CODE = re.compile(r"[|@<>&!]")
_MENTION = re.compile(r"@(?=\w)")
# Texts that a workflow runner would interpret as commands, anywhere in a log.
_COMMAND = re.compile(r"(?<=:)(?=:)|(?<=#)(?=#\[)")
_COMMAND_AT_START = re.compile(r"\A(\s*:)(?=:)|(?<=#)(?=#\[)")


def utf8_text(text: str) -> str:
    """The text with every NUL and lone surrogate replaced, so that any writer takes it."""
    return _UNWRITABLE.sub(_REPLACEMENT, text)


def without_controls(text: str) -> str:
    """The text without control characters, and without those that change the order of others."""
    return _CONTROLS.sub(_REPLACEMENT, _REORDERS_TEXT.sub(_REPLACEMENT, text))


def printable(text: str) -> str:
    """The text on a single line and in its order, with nothing that controls a terminal or a page."""
    return "".join(
        _REPLACEMENT if unicodedata.category(character) in _BREAKS_A_LINE else character
        for character in _INVISIBLE.sub(_REPLACEMENT, without_controls(text))
    )


def terminal_text(text: str) -> str:
    """The text as a terminal and a log may show it: printable, and a command to no runner of workflows."""
    return _COMMAND.sub(" ", printable(text))


def terminal_line(text: str) -> str:
    """The same for text that begins a line and is not wrapped: ``x[::-1]`` is unchanged."""
    return _COMMAND_AT_START.sub(r"\1 ", printable(text))


def html_text(text: str) -> str:
    """The text as escaped HTML; text between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(without_controls(text), quote=False))


def markdown_text(text: object) -> str:
    """Text as Markdown on one line: no markup, no HTML, no mentions; text between backticks is code."""
    line = " ".join(without_controls(str(text)).split())
    parts = enumerate(_CODE.split(line))  # those with an odd number stand between backticks
    return _NUMBERED.sub(r"\1\\", "".join(_code_or_text(part, number % 2 == 1) for number, part in parts))


def _code_or_text(part: str, is_between_backticks: bool) -> str:
    text = f"`{part}`" if is_between_backticks else part
    if is_between_backticks and not _ACTS_IN_CODE.search(part):
        return text
    text = _MENTION.sub("@\N{WORD JOINER}", text)  # a site would make a mention of `\@name` too
    return escape(_MARKDOWN.sub(r"\\\g<0>", text), quote=False)


def fence(text: str) -> str:
    """The fence around code in Markdown: longer than any run of backticks in the text."""
    return "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))


def quoted(line: str) -> str:
    """A line of a student's code between backticks."""
    return f"`{printable(line).replace('`', chr(39))}`"


def code(name: str) -> str:
    """A name or a path between backticks; a phrase, such as ``the last state``, is unchanged."""
    return name if " " in name or "`" in name else f"`{name}`"


def series(texts: Sequence[str]) -> str:
    """Texts as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def capital(text: str) -> str:
    """The text with its first letter in upper case; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """A number with its noun, as in "1 check" or "2 checks"; the plural must end in a plain s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def some(texts: Iterable[str], most: int) -> list[str]:
    """The texts; where there are more than `most`, the first of them and how many more."""
    every = list(texts)
    more = len(every) - most
    return every if more <= 0 else [*every[:most], f"and {more} more"]


def file_name(text: str) -> str:
    """The text as a safe component of a path, in the composed form of Unicode.

    A safe name is unchanged. A changed name ends with a tag that is made only from the original, so different
    names remain different.
    """
    composed = unicodedata.normalize("NFC", text)
    safe = re.sub(r"[/\\]", "_", printable(composed))
    fits = len(safe.encode()) <= LONGEST_FILE_NAME
    return safe if safe == composed and fits and safe not in {"", ".", ".."} else _tagged(safe, text)


def distinct_file_name(text: str, origin: str, taken: Container[str]) -> str:
    """The text as a safe component that is not taken; `origin` distinguishes equal texts."""
    name = file_name(text)
    if name not in taken:
        return name
    candidates = (_tagged(name, f"{attempt} {origin}") for attempt in count())
    return next(candidate for candidate in candidates if candidate not in taken)


def _tagged(name: str, origin: str) -> str:
    """The name, cut where it is too long, with eight digits of its origin's hash."""
    tag = "-" + hashlib.sha256(origin.encode(errors="surrogatepass")).hexdigest()[:8]
    return name.encode()[: LONGEST_FILE_NAME - len(tag)].decode(errors="ignore") + tag


_MOST_NEAR, _MOST_KNOWN = 3, 10
_ALIKE = 0.5  # by the measure of difflib, which is 1 for equal names


def alike(name: str, known: Collection[str]) -> list[str]:
    """The known names that look like a name."""
    return get_close_matches(name, known, n=_MOST_NEAR, cutoff=_ALIKE)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a sentence: the known names that look like a name or, where none does, all of a few."""
    if near := alike(name, known):
        return f"did you mean {', '.join(near)}?"
    if len(known) > _MOST_KNOWN:
        return f"none of the {len(known)} names is like it"
    return f"there is {', '.join(sorted(known)) or 'nothing'}"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def without_formula(text: str) -> str:
    """A student's text as a cell that no spreadsheet takes for a formula."""
    plain = unicodedata.normalize("NFKC", text).lstrip()
    return f"'{text}" if plain.startswith(_FORMULA) else text


def plain_words(name: str) -> list[str]:
    """The words of a name in lower case, without accents and the strokes of letters, as Ø has."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return re.findall(r"\w+", "".join(map(_plain_letter, letters)).replace("_", " "))


def _plain_letter(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    base = unicodedata.name(letter, "").partition(" WITH ")[0]
    try:
        return unicodedata.lookup(base)
    except KeyError:
        return letter


def format_time(iso: str) -> str:
    """A time for people: ``2026-11-21 04:00:00 (UTC+0100)``."""
    return datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M:%S (UTC%z)")


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
_LONG_NUMBER = re.compile(r"\.\d{5}")
_FEWEST_DIGITS, _ALL_DIGITS = 5, 17


def rounded(text: str) -> str:
    """Round long numbers in a message to the fewest digits that distinguish all its numbers."""
    texts = set(_NUMBER.findall(text))
    values = {float(number) for number in texts}
    for digits in range(_FEWEST_DIGITS, _ALL_DIGITS + 1):
        shorter = {n: f"{float(n):.{digits}g}" if _LONG_NUMBER.search(n) else n for n in texts}
        if len({float(number) for number in shorter.values()}) == len(values):
            break
    return _NUMBER.sub(lambda found: shorter[found[0]], text)
