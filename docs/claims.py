"""Write docs/claims.md: `python docs/claims.py`.

Each claim is a function such as s3_4 in tests/claims/; its docstring states the claim, then the truth. A
notebook teaches a claim in a text that its source tags `claim S3.4`.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import SOURCE, Assignment
from grader.course.notebook_source import read_assignment

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "claims.md"
VERDICTS = ("holds", "incomplete", "wrong", "outdated")
_ID = re.compile(r"s(\d)_(\d+)")
_TRUTH = re.compile(rf"({'|'.join(VERDICTS)}): (.+)", re.IGNORECASE)
_INTRODUCTION = """# Claims about PyTorch

This page lists claims about autograd, what torch really does, and which notebook teaches it. The claims S0 to
S4 come from five texts in blogs and forums; the claims S5 are half-truths from earlier versions of these
notebooks. Each claim is a test in `tests/claims/`, which fails if a release of torch behaves differently.

`python docs/claims.py` writes this page from the docstrings of the tests and from tags in the notebook
sources.
"""


@dataclass(frozen=True)
class Claim:
    """A claim of a text, and the truth about it."""

    id: str
    text: str
    verdict: str
    truth: str


def claims_by_text(folder: Path) -> dict[str, list[Claim]]:
    """Return the claims of each text by its subject, in the order of their ids."""
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
            parts = [" ".join(part.split()) for part in (ast.get_docstring(node) or "").split("\n\n")]
            truth = _TRUTH.fullmatch(parts[1]) if len(parts) == 2 else None
            if truth is None:
                raise ValueError(
                    f"{identity}: state the claim in the docstring, and after an empty line the truth:"
                    " `Holds: ...`, `Incomplete: ...`, `Wrong: ...` or `Outdated: ...`."
                )
            yield Claim(identity, parts[0], truth[1].lower(), truth[2])


def places(assignments: Iterator[Assignment]) -> Mapping[str, list[str]]:
    """Return where each claim is taught: the notebook, and the nearest heading above the tagged text."""
    found: dict[str, list[str]] = defaultdict(list)
    for assignment in assignments:
        section = "the beginning"
        for cell in assignment.cells:
            headings = re.findall(r"(?m)^## (.+)", cell.source) if cell.role in {"prose", "task"} else []
            if cell.claims and headings and not cell.source.startswith("## "):
                raise ValueError(
                    f"{assignment.path}, line {cell.line}: a text that teaches claims must not contain a"
                    " heading: split the cell there."
                )
            section = headings[-1] if headings else section
            place = f"[{assignment.stem}](../assignments/{assignment.stem}.ipynb): {section}"
            for identity in cell.claims:
                if place not in found[identity]:
                    found[identity].append(place)
    return found


def page(root: Path) -> str:
    """Return the page for the current claims and notebook sources of a course."""
    texts = claims_by_text(root / "tests" / "claims")
    taught = places(read_assignment(path) for path in sorted(root.glob(SOURCE.format("[0-9][0-9]_*"))))
    verdicts = Counter(claim.verdict for claims in texts.values() for claim in claims)
    hold, *others = VERDICTS
    counted = ", ".join(f"{verdicts[verdict]} are {verdict}" for verdict in others)
    parts = [_INTRODUCTION, f"There are {verdicts.total()} claims: {verdicts[hold]} hold, {counted}.\n"]
    for about, claims in texts.items():
        rows = "".join(_row(claim, taught.get(claim.id, [])) for claim in claims)
        head = "| | claim | verdict | what torch does | taught in |\n|---|---|---|---|---|\n"
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
