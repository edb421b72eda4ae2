"""Writes docs/claims.md: `python docs/claims.py`.

The claims are the functions s3_4 of tests/claims/: a docstring says what is claimed, then what is true of it.
A notebook teaches a claim where its master has a text tagged `claim S3.4`.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import MASTER, Assignment
from grader.course.master import read_assignment

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "claims.md"
VERDICTS = ("holds", "incomplete", "wrong", "outdated")
_ID = re.compile(r"s(\d)_(\d+)")
_TRUTH = re.compile(rf"({'|'.join(VERDICTS)}): (.+)", re.IGNORECASE)
_INTRODUCTION = """# Claims about PyTorch

Five texts about autograd, from blogs and forums, make the claims S0 to S4. The claims S5 are half-truths
that the notebooks themselves once told. Each claim is a test in `tests/claims/`, which runs what torch
really does. If a release of torch does something else, the test fails.

`python docs/claims.py` writes this page, from the docstrings of these tests and from the tags of the masters.
"""


@dataclass(frozen=True)
class Claim:
    """What a text claims, and what is true of it."""

    id: str
    text: str
    verdict: str
    truth: str


def claims_by_text(folder: Path) -> dict[str, list[Claim]]:
    """The claims of each text, by what the text is about, in the order of their ids."""
    texts: dict[str, list[Claim]] = {}
    for path in folder.glob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if found := list(_claims(module)):
            texts[(ast.get_docstring(module) or "").partition("\n")[0].removesuffix(".")] = found
    return dict(sorted(texts.items(), key=lambda item: item[1][0].id))


def _claims(module: ast.Module) -> Iterator[Claim]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and (name := _ID.fullmatch(node.name)):
            identity = f"S{name[1]}.{name[2]}"
            told = [" ".join(part.split()) for part in (ast.get_docstring(node) or "").split("\n\n")]
            truth = _TRUTH.fullmatch(told[1]) if len(told) == 2 else None
            if truth is None:
                raise ValueError(
                    f"{identity}: say in the docstring what is claimed, and then, behind an empty line,"
                    " `Holds: ...`, `Incomplete: ...`, `Wrong: ...` or `Outdated: ...`."
                )
            yield Claim(identity, told[0], truth[1].lower(), truth[2])


def places(assignments: Iterator[Assignment]) -> Mapping[str, list[str]]:
    """Where each claim is taught: the notebook, and the nearest heading at or above the tagged text."""
    found: dict[str, list[str]] = defaultdict(list)
    for assignment in assignments:
        section = "the beginning"
        for cell in assignment.cells:
            headings = re.findall(r"(?m)^## (.+)", cell.source) if cell.role in {"prose", "task"} else []
            if cell.claims and headings and not cell.source.startswith("## "):
                raise ValueError(
                    f"{assignment.path}, line {cell.line}: a text that teaches claims has a heading within;"
                    " make two cells of it."
                )
            section = headings[-1] if headings else section
            place = f"[{assignment.stem}](../assignments/{assignment.stem}.ipynb): {section}"
            for identity in cell.claims:
                if place not in found[identity]:
                    found[identity].append(place)
    return found


def page(root: Path) -> str:
    """The page as the claims and the masters of a course have it now."""
    texts = claims_by_text(root / "tests" / "claims")
    taught = places(read_assignment(master) for master in sorted(root.glob(MASTER.format("[0-9][0-9]_*"))))
    verdicts = Counter(claim.verdict for claims in texts.values() for claim in claims)
    hold, *others = VERDICTS
    counted = ", ".join(f"{verdicts[verdict]} are {verdict}" for verdict in others)
    parts = [_INTRODUCTION, f"There are {verdicts.total()} claims: {verdicts[hold]} hold, {counted}.\n"]
    for about, claims in texts.items():
        rows = "".join(_row(claim, taught.get(claim.id, [])) for claim in claims)
        head = "| | what is claimed | | what torch does | where it is taught |\n|---|---|---|---|---|\n"
        parts.append(f"## {about}\n\n{head}{rows}")
    return "\n".join(parts)


def _row(claim: Claim, taught: list[str]) -> str:
    where = "<br>".join(taught)
    verdict = claim.verdict if claim.verdict == "holds" else f"**{claim.verdict}**"
    return (
        f"| {claim.id} | {claim.text} | {verdict} | {claim.truth[0].upper()}{claim.truth[1:]} | {where} |\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(ROOT), encoding="utf-8")
