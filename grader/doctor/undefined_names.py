"""Names in a known answer that nothing defines: an author's typo, and no student's mistake.

Such an answer stops, and would count as a wrong answer that every check finds. Ruff reads all answers at
once, each in a function of its own, since no answer sees another.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

from ruff import find_ruff_bin  # type: ignore[import-untyped]

from grader.doctor.known_answers import Answer

_LINT = ("check", "--isolated", "--no-cache", "--select=F821", "--exit-zero", "--output-format=json")
_OF_NOTEBOOKS = '--config=builtins=["display", "get_ipython"]'


def undefined_names(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """The names that nothing defines, each with the answers to an assignment that use it."""
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
        others = f", nor in {len(more)} more" if more else ""
        complaints.append(
            f"{path}, line {first.line}: {first.question}, {first.name}: `{name}` is not defined{others}:"
            f" define or import it at the head of {path.name}, for no answer sees another"
        )
    return complaints
