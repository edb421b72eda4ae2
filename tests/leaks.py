"""Outside: a search for what students must never get, in every file and archive of a folder.

Secret is every line of an answer, of the hidden checks and of the known answers, and every name and sentence
in them, unless it also stands in what an assignment shows on purpose, or is an everyday one; and the names
of the attacks. Archives are unpacked, notebooks are read value by value, and blanks and comment signs do not
count.
"""

import ast
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import grader
from grader.course.assignment import MAY_COME_IN

_ANSWER = re.compile(r"# BEGIN SOLUTION\n(.*?)# (?:STUB|END SOLUTION)", re.DOTALL)
_GRADER = Path(__file__).parents[1] / "grader"
_BEGUN = sorted(_GRADER.glob("templates/new_*"))  # what `new` begins a question with
_MAY_COME_IN = re.compile(rf"{re.escape(MAY_COME_IN)}\n\n((?:- .*\n?)+)")
_WORD = re.compile(r"\w+")
_SECRET_PATHS = re.compile(
    r"(^|/)(solutions|hidden|attacks|tests/answers|evidence|reference)/|(^|(?<!grader)/)results/|(^|/)test_\d\d_|\.pyc$"
)
_SHORTEST_LINE, _SHORTEST_SENTENCE, _SHORTEST_NAME = 12, 20, 6

# What checks and answers have in common with the grader's own code, which students get, and give nobody away.
_EVERYDAY_LINE = re.compile(
    r"\w+\(?|(?:import|from) (?!inside\b)\w.*|@\w[\w.]*|return \w+|(\w+)\": \1|while \w+:|for [\w, ]+ in \("
    r"|for \w+ in \w+:|except \w+:"
    r"|@accepted\(\"q1\"\)|torch\.set_grad_enabled\(True\)"
    r"|(?:with )?warnings\.(?:catch_warnings\(\):|simplefilter\(\"\w+\"\))"
)
EVERYDAY_NAMES = {
    *("_mapped", "by_name", "cloned", "clipped", "closure", "contents", "known_answers", "originals"),
    *("broken", "recursion", "turned"),
}


def lines_of(text: str) -> set[str]:
    """The lines of a text, without what does not matter; also those that a string literal holds."""
    lines = text.replace("\\n", "\n").replace('\\"', '"').splitlines()
    return {" ".join(line.strip().lstrip("# ").split()).strip('", ') for line in lines}


class Secrets:
    """What must not be found, by where it comes from."""

    def __init__(self, course: Path) -> None:
        masters = [path.read_text(encoding="utf-8") for path in sorted(course.glob("solutions/*.py"))]
        machinery = [path.read_text(encoding="utf-8") for path in (*_machinery(), *_BEGUN)]
        public = "\n".join([*(_ANSWER.sub("", m) for m in masters), *_told(course), *machinery])
        known_lines, known_words = lines_of(public), {*_WORD.findall(public), *EVERYDAY_NAMES}
        flat = " ".join(public.split())
        self.lines: dict[str, str] = {}
        self.words: dict[str, str] = {}
        self.sentences: dict[str, str] = {}
        self.answers: dict[str, set[str]] = {}
        for path in sorted(course.glob("solutions/*.py")):
            for number, answer in enumerate(_ANSWER.findall(path.read_text(encoding="utf-8")), start=1):
                where = f"the answer to {path.stem} q{number}"
                found = {line for line in lines_of(answer) - known_lines if _tells(line)}
                whole = " ".join(answer.split())
                self.lines |= dict.fromkeys(found, where)
                self.sentences |= {whole: where} if whole not in flat else {}
                self.answers[where] = found if whole in flat else found | {whole}
        for path in sorted([*course.glob("tests/hidden/*.py"), *course.glob("tests/answers/*.py")]):
            text, where = path.read_text(encoding="utf-8"), path.relative_to(course).as_posix()
            lines = {line for line in lines_of(text) - known_lines if _tells(line)}
            self.lines |= dict.fromkeys(lines, where)
            names, sentences = _said(ast.parse(text))
            long = {name for name in names if len(name) >= _SHORTEST_NAME}
            self.words |= dict.fromkeys(long - known_words, where)
            self.sentences |= {s: where for s in sentences if len(s) >= _SHORTEST_SENTENCE and s not in flat}
        attacks = {path.stem for path in course.glob("tests/attacks/*/*.py") if "_" in path.stem}
        self.words |= dict.fromkeys(attacks - known_words, "tests/attacks")

    def found_in(self, folder: Path) -> list[str]:
        """One sentence for each secret that a folder gives away."""
        found = []
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                found.append(f"{path} is a link")
            elif path.is_file():
                name = path.relative_to(folder).as_posix()
                found += [
                    f"{place}: {leak}"
                    for place, text in _texts(name, path.read_bytes())
                    for leak in self._leaks(place, text)
                ]
        return found

    def _leaks(self, place: str, text: str) -> Iterator[str]:
        if _SECRET_PATHS.search(place.rpartition("!")[2]):
            yield "its name"
        for line in lines_of(text) & self.lines.keys():
            yield f"a line of {self.lines[line]}: {line}"
        for word in set(_WORD.findall(text)) & self.words.keys():
            yield f"a name of {self.words[word]}: {word}"
        flat = " ".join(text.replace("\\n", " ").replace('\\"', '"').split())
        yield from (f"a sentence of {where}: {s}" for s, where in self.sentences.items() if s in flat)


def _machinery() -> Iterator[Path]:
    """The modules that define what check files import of the grader, and their counterparts in the worker.

    They serve all questions alike: a word says nothing of the question that uses it.
    """
    words = (getattr(grader, name) for name in grader.__all__)
    modules = {sys.modules[word.__module__] for word in words if hasattr(word, "__module__")}
    for path in sorted(Path(str(module.__file__)) for module in modules):
        yield path
        yield from _GRADER.glob(f"runtime/{path.name}")


def _told(course: Path) -> Iterator[str]:
    """What a contract says to students: what each argument is, and the blocks that `build` makes of it."""
    for path in sorted(course.glob("tests/hidden/*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        named = {
            target.id: part.value
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
            for part in ast.walk(node.value)
            if isinstance(part, ast.Constant)
        }
        for node in nodes:
            if isinstance(node, ast.keyword) and node.arg in {"says", "words"}:
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant):
                        yield str(part.value)
                    elif isinstance(part, ast.Name) and part.id in named:
                        yield str(named[part.id])
    for path in sorted(course.glob("assignments/*.ipynb")):
        for text in _strings(json.loads(path.read_text(encoding="utf-8"))):
            yield from _MAY_COME_IN.findall(text)


def _tells(line: str) -> bool:
    """Whether a line is long enough, and no everyday one."""
    return len(line) >= _SHORTEST_LINE and not _EVERYDAY_LINE.fullmatch(line)


def _said(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names of functions and classes of a file, and the sentences in it."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names = {name for name in names if not name.startswith("__")}  # Python's own
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return names, {" ".join(line.split()) for text in texts for line in text.splitlines()}


def _texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Every text in a file, and in what it contains, with its place."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield name, archive.comment.decode("utf-8", "replace")
            for member in archive.namelist():
                yield from _texts(f"{name}!{member}", archive.read(member))
        return
    text = content.decode("utf-8", "replace")
    yield name, text
    if name.endswith((".ipynb", ".json")):
        yield name, "\n".join(_strings(json.loads(text)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list):
        whole = all(isinstance(inner, str) for inner in value)  # the lines of a cell
        yield from ["".join(value)] if whole else (text for inner in value for text in _strings(inner))
    else:
        yield str(value)
