"""Known answers and equivalent edits, read from the text of a file of answers.

It is never imported, because it uses torch. An answer is a marked function or class, or an edit of another
answer; what bears no mark is part of every answer's notebook.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from ruff import find_ruff_bin  # type: ignore[import-untyped]

from grader.course.author_file import (
    not_python,
    questions_asked,
    read_syntax,
    read_text,
    written_definitions,
)
from grader.course.course import Course
from grader.errors import CourseError
from grader.notebooks.reader import Cell, cells_of
from grader.text import did_you_mean, quoted

REFERENCE = "reference"  # the name of the reference among the answers

#: `code cell 2, line 3` and `code cell 2), `y.backward()``, as `grader.contracts.diagnosis` says them.
_PLACE = re.compile(r"code cell (?P<cell>\d+)(?:, line (?P<line>\d+)|(?=\)?, (?P<quoted>`[^`]*`)))")
#: How each word of `grader.answers` is written.
_FORMS = {
    "accepted": '@accepted("q1")',
    "wrong": '@wrong("q1"); --accept writes down which checks it fails',
    "accepted_edits": 'accepted_edits("q1", {...}) or accepted_edits("q1", {...}, of="its_name")',
    "wrong_edits": 'wrong_edits("q1", {...}) or wrong_edits("q1", {...}, of="its_name")',
    "equal": 'equal("q1", "x -> x.clone()", why="...")',
}
_EDITS_FORM = 'write {"name_of_the_answer": ("old text", "new text", "What is believed."), ...} with literals'
_LINT = ("check", "--isolated", "--no-cache", "--select=F821", "--exit-zero", "--output-format=json")
_OF_NOTEBOOKS = '--config=builtins=["display", "get_ipython"]'
_LINE_ENDS = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Answer:
    """A known answer; as text, its question, name and line.

    Attributes:
        question: the id of its question.
        is_wrong: whether it must fail a check; else it must pass all.
        line: of its mark.
        cells: a notebook that gives this answer: what all answers share, the answer, and its function's name.
        lines: for each cell from the file, the file's line by the cell's line.
    """

    name: str
    question: str
    is_wrong: bool
    line: int
    cells: tuple[Cell, ...]
    lines: tuple[Mapping[int, int], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.question}, {self.name} (line {self.line})"

    @property
    def source(self) -> str:
        """The text of its function or class."""
        return self.cells[1].source

    def in_file(self, text: str, path: Path) -> str:
        """A diagnosis in which the answer's file and line replace a cell of its notebook."""

        def placed(match: re.Match[str]) -> str:
            cell = int(match["cell"])
            if not 0 < cell <= len(self.lines):
                return match[0]
            lines, source = self.lines[cell - 1], self.cells[cell - 1].source
            line = int(match["line"]) if match["line"] else _line_of(match["quoted"], source, lines)
            return f"{path.name}, line {lines[line]}" if line in lines else match[0]

        return _PLACE.sub(placed, text)


def _line_of(quote: str, source: str, lines: Mapping[int, int]) -> int:
    """The first line of a source, among `lines`, that begins with a quotation; 0 if none does."""
    wanted = quote.strip("`")
    for number, line in enumerate(source.splitlines(), start=1):
        if number in lines and wanted and quoted(line.strip()).strip("`").startswith(wanted):
            return number
    return 0


@dataclass(frozen=True)
class Equal:
    """Edits of a question's reference that leave it right; as text, where they are written down.

    Attributes:
        edits: their names, as ``doctor --mutants`` prints them.
        line: in the file.
    """

    question: str
    edits: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.question}, equal (line {self.line})"


def answers_of(course: Course, stem: str, question: str | None = None) -> list[Answer]:
    """The known answers of an assignment, or of a question of it; CourseError as in `read_answers`."""
    questions = [q for q in course.assignment(stem).questions if question in {None, q.id}]
    functions = {q.id: q.function for q in questions}
    return read_answers(course.answers_file(stem), functions, {q.id: q.answer for q in questions})


def read_answers(
    path: Path, functions: Mapping[str, str], references: Mapping[str, str] | None = None
) -> list[Answer]:
    """The known answers in a file.

    Args:
        functions: the name of each question's function, by the question's id.
        references: the source of each reference, which answers may edit.

    Raises:
        CourseError: the file is missing, an answer belongs to no question, or an edit cannot be made.
    """
    statements = _statements_about(path, functions)
    shared, shared_lines = _unparsed([node for node in statements if not _is_bookkeeping(node)])
    originals = _originals(path, statements, functions, references or {})
    answers = []
    for node in statements:
        call = _entry(node)
        if call is None or _word(call) == "equal":
            continue
        (question, *_), options = _literals(call, 1, functions, path)
        if isinstance(node, _Definition):
            if options or len(call.args) > 1:
                raise CourseError(_wrong_form(call, path))
            node.decorator_list.remove(call)
            made = [(node.name, call.lineno, *_unparsed([node]))]
        else:
            of = str(options.get("of", REFERENCE))
            if (question, of) not in originals:
                near = did_you_mean(of, {name for asked, name in originals if asked == question})
                raise CourseError(
                    f"{path}, line {call.lineno}: {question} has no known-correct answer {of!r}: {near}"
                )
            original = originals[question, of]
            made = [(edit.name, edit.line, *_made(edit, original, path)) for edit in _edits_in(call, path)]
        for name, line, source, lines in made:
            cells = cells_of((shared, source, f"{functions[question]} = {name}"))
            is_wrong = _word(call) in {"wrong", "wrong_edits"}
            answers.append(Answer(name, question, is_wrong, line, cells, (shared_lines, lines)))
    return answers


def equals_of(course: Course, stem: str) -> list[Equal]:
    """The edits of an assignment's references that are written down as equal.

    Raises:
        CourseError: the file of answers is missing, or an entry says too little.
    """
    path = course.answers_file(stem)
    functions = {question.id: question.function for question in course.assignment(stem).questions}
    equals = []
    for call in map(_entry, _statements_about(path, functions)):
        if call is not None and _word(call) == "equal":
            (question, *edits), options = _literals(call, len(call.args), functions, path)
            if not edits or set(options) != {"why"} or not options["why"]:
                raise CourseError(_wrong_form(call, path))
            equals.append(Equal(question, tuple(map(str, edits)), call.lineno))
    return equals


# --- the statements of a file


def _statements_about(path: Path, functions: Mapping[str, str]) -> list[ast.stmt]:
    """The statements of the file, without those that say TODO, and those of questions that are left out.

    `functions` has the function's name by the id of each question that stays.

    Raises:
        CourseError: two answers have the same name; an outcome knows its answer by the name alone.
    """
    statements = written_definitions(path, read_syntax(path).body)
    users: dict[str, tuple[str | None, int]] = {}
    for node in statements:
        for name, line in _named(node):
            if name in users:
                other, first = users[name]
                raise CourseError(
                    f"{path}, line {line}: two answers are called {name}, this one to {_question_of(node)}"
                    f" and one to {other} in line {first}; give each a name of its own"
                )
            users[name] = _question_of(node), line
    others = questions_asked(path) - set(functions)
    return [node for node in statements if _question_of(node) not in others]


def _named(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """The names of a statement's answers, and their lines."""
    match node, _entry(node):
        case (ast.FunctionDef() | ast.ClassDef()) as definition, ast.Call() as mark:
            yield definition.name, mark.lineno
        case _, ast.Call(args=[_, ast.Dict(keys=keys)]):
            yield from ((str(key.value), key.lineno) for key in keys if isinstance(key, ast.Constant))


def _question_of(node: ast.stmt) -> str | None:
    """The question that an answer, or an `equal`, names first."""
    match _entry(node):
        case ast.Call(args=[ast.Constant(value=str(question)), *_]):
            return question
    return None


def _entry(node: ast.stmt) -> ast.Call | None:
    """The decorator or the call by which a statement is an answer, answers or an `equal`, or None."""
    calls: list[ast.expr] = []
    words = {"accepted_edits", "wrong_edits", "equal"}
    match node:
        case ast.FunctionDef(decorator_list=calls) | ast.ClassDef(decorator_list=calls):
            words = {"accepted", "wrong"}
        case ast.Expr(value=value):
            calls = [value]
    return next((call for call in calls if isinstance(call, ast.Call) and _word(call) in words), None)


def _is_bookkeeping(node: ast.stmt) -> bool:
    """Whether a statement is no part of answers' notebooks: docstring, answers, `equal`, and their import."""
    match node:
        case ast.ImportFrom(module="grader.answers") | ast.Expr(value=ast.Constant()):
            return True
    return _entry(node) is not None


def _literals(
    call: ast.Call, arguments: int, functions: Mapping[str, str], path: Path
) -> tuple[list[Any], dict[str, Any]]:
    """The first arguments of a call, a question and its content, and its keyword arguments."""
    try:
        values = [ast.literal_eval(argument) for argument in call.args[:arguments]]
        options = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
    except ValueError:
        raise CourseError(_wrong_form(call, path)) from None
    if not values:
        raise CourseError(_wrong_form(call, path))
    if values[0] not in tuple(functions):
        raise CourseError(
            f"{path}, line {call.lineno}: the assignment has no question {values[0]!r}, only"
            f" {', '.join(functions)}"
        )
    return values, options


def _word(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _wrong_form(call: ast.Call, path: Path) -> str:
    return f"{path}, line {call.lineno}: write {_FORMS[_word(call)]}, with literals"


def _unparsed(nodes: Sequence[ast.stmt]) -> tuple[str, dict[int, int]]:
    """The text of some statements, and for each of its lines the line of the file that it is made from."""
    source = "\n".join(map(ast.unparse, nodes))
    lines: dict[int, int] = {}
    for original, written in zip(nodes, ast.parse(source).body, strict=False):
        for old, new in zip(ast.walk(original), ast.walk(written), strict=False):
            if isinstance(old, ast.stmt | ast.expr) and isinstance(new, ast.stmt | ast.expr):
                lines.setdefault(new.lineno, old.lineno)
    return source, lines


# --- answers that are edits of another


class _Original(NamedTuple):
    """A function or class that can be edited; its `label` stands in messages."""

    name: str
    label: str
    source: str


class _Edit(NamedTuple):
    """An answer that is written as an edit of another.

    Attributes:
        line: of its name.
        replacements: pairs of old and new text, made in this order.
        why: the author's reason; the answer's docstring.
    """

    name: str
    line: int
    replacements: Annotated[list[tuple[Annotated[str, Meta(min_length=1)], str]], Meta(min_length=1)]
    why: str


def _originals(
    path: Path, statements: Sequence[ast.stmt], functions: Mapping[str, str], references: Mapping[str, str]
) -> dict[tuple[Any, str], _Original]:
    """The references and known-correct answers, which can be edited, by question and name."""
    originals: dict[tuple[Any, str], _Original] = {
        (question, REFERENCE): _Original(functions[question], f"the reference of {question}", source)
        for question, source in references.items()
    }
    lines = io.StringIO(read_text(path)).readlines()
    for node in statements:
        match _entry(node), node:
            case ast.Call(
                func=ast.Name(id="accepted"), args=[ast.Constant(question)]
            ) as mark, ast.FunctionDef() | ast.ClassDef():
                first = min(decorator.lineno for decorator in node.decorator_list)
                above, below = lines[first - 1 : mark.lineno - 1], lines[mark.end_lineno : node.end_lineno]
                originals[question, node.name] = _Original(node.name, node.name, "".join([*above, *below]))
    return originals


def _edits_in(call: ast.Call, path: Path) -> Iterator[_Edit]:
    """The answers of a call of ``wrong_edits`` or ``accepted_edits``."""
    match call.args:
        case [_, ast.Dict(keys=names, values=edits)]:
            for key, value in zip(names, edits, strict=True):
                line = (key or value).lineno
                try:
                    name, (*pairs, why) = ast.literal_eval(key or ""), ast.literal_eval(value)
                    replacements = pairs[0] if len(pairs) == 1 else [pairs]
                    edit = msgspec.convert([name, line, replacements, why], _Edit)
                except (SyntaxError, TypeError, ValueError):
                    edit = None
                if edit is None or not edit.name.isidentifier():
                    raise CourseError(f"{path}, line {line}: {_EDITS_FORM}")
                yield edit
        case _:
            raise CourseError(f"{path}, line {call.lineno}: {_EDITS_FORM}")


def _made(edit: _Edit, original: _Original, path: Path) -> tuple[str, dict[int, int]]:
    """The function or class that an edit makes, under the edit's name, and for each line that of the edit.

    The old text must stand exactly once in the original, as whole words, outside of comments and docstrings;
    else, or if the edit leaves no such function, this raises CourseError.
    """
    where = f"{path}, line {edit.line}: {edit.name}"
    source = original.source
    for old, new in edit.replacements:
        begin, end = r"(?<!\w)" if old[0].isidentifier() else "", r"(?!\w)" if old[-1].isalnum() else ""
        positions = [match.start() for match in re.finditer(begin + re.escape(old) + end, _code(source))]
        if len(positions) != 1:
            raise CourseError(f"{where}: `{old}` occurs {_times(len(positions), old, original)}")
        source = source[: positions[0]] + new + source[positions[0] + len(old) :]
    try:
        definition = _definition(source, original.name)
    except SyntaxError as error:
        raise CourseError(f"{where}: after the edit {not_python(error)}") from error
    if definition is None:
        raise CourseError(f"{where}: after the edit there is no {original.name} any more; leave its name")
    before = _definition(original.source, original.name)
    if before is not None and ast.dump(before) == ast.dump(definition):
        raise CourseError(f"{where}: the edit changes nothing in {original.label}")
    text = ast.unparse(_renamed(definition, edit))
    return text, dict.fromkeys(range(1, text.count("\n") + 2), edit.line)


def _definition(source: str, name: str) -> _Definition | None:
    body = ast.parse(source).body
    named = [node for node in body if isinstance(node, _Definition) and node.name == name]
    return named[0] if len(named) == len(body) == 1 else None


def _renamed(definition: _Definition, edit: _Edit) -> ast.stmt:
    """The definition under the edit's name, also where it names itself, with the reason as docstring."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and node.id == definition.name and isinstance(node.ctx, ast.Load):
            node.id = edit.name
    definition.name = edit.name
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    definition.body.insert(0, ast.Expr(ast.Constant(edit.why)))
    return ast.fix_missing_locations(definition)


@cache
def _code(source: str) -> str:
    """The source with spaces in place of comments and docstrings; unchanged if it is not Python."""
    lines = io.StringIO(source).readlines()
    begins = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    try:
        tokens = list(tokenize.generate_tokens(iter([*lines, ""]).__next__))
    except (SyntaxError, tokenize.TokenError):
        return source
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_statement = before.type in _LINE_ENDS and after.type == tokenize.NEWLINE
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and is_statement):
            first, last = (begins[row - 1] + column for row, column in (token.start, token.end))
            source = source[:first] + " " * (last - first) + source[last:]
    return source


def _times(number: int, old: str, original: _Original) -> str:
    if number:
        return f"{number} times in {original.label}; include more of the text around it"
    lines = [line.strip() for line in _code(original.source).splitlines() if line.strip()]
    nearest = max(lines, key=lambda line: SequenceMatcher(None, old, line, False).find_longest_match().size)
    return f"nowhere in the code of {original.label}; nearest to it is `{nearest}`"


# --- names that nothing defines: an author's typo, and no student's mistake


def undefined_names(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """The names that nothing defines, each with the answers to an assignment that use it.

    Such an answer stops, and would count as a known-wrong answer that every check fails. Ruff reads all
    answers at once, each in its own function, because answers don't share names.
    """
    if not answers:
        return {}
    shared = answers[0].cells[0].source
    text = [shared]
    owners: list[Answer | None] = [None] * (shared.count("\n") + 1)
    for answer in answers:
        part = f"def _():\n{indent(answer.source, ' ')}"
        text.append(part)
        owners += [answer] * (part.count("\n") + 1)
    found = subprocess.run(  # noqa: S603 - ruff, over text that it does not run
        [find_ruff_bin(), *_LINT, _OF_NOTEBOOKS, "--stdin-filename=answers.py", "-"],
        input="\n".join(text),
        capture_output=True,
        text=True,
        check=True,
    )
    users: dict[str, list[Answer]] = {}
    for finding in json.loads(found.stdout):
        answer, name = owners[finding["location"]["row"] - 1], finding["message"].split("`")[1]
        if answer is not None and answer not in users.setdefault(name, []):
            users[name].append(answer)
    return users


def complaints_about_names(undefined: Mapping[str, Sequence[Answer]], path: Path) -> list[str]:
    """A sentence for each name that nothing defines, with the first answer that uses it."""
    complaints = []
    for name, (first, *more) in undefined.items():
        others = f", also not in {len(more)} more" if more else ""
        complaints.append(
            f"{path}, line {first.line}: {first.question}, {first.name}: `{name}` is not defined{others}:"
            f" define or import it at the top of {path.name}, because answers cannot use each other"
        )
    return complaints
