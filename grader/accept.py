"""Outside: writes what becomes of wrong answers into their file, for ``doctor --accept``."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path

from grader.filled import filled_statements
from grader.known_answers import Named, is_wrong, mark_of

_WIDTH = 110  # of a line


def accept(path: Path, fails: Mapping[str, list[str]], public: Collection[str] = ()) -> None:
    """Write what becomes of each wrong answer into its decorator; all else in the file stays as it is.

    Args:
        path: the file of answers.
        fails: for each wrong answer by name, the checks it fails.
        public: the names of those that their public check passes.
    """
    lines = io.StringIO(path.read_text(encoding="utf-8")).readlines()  # the lines Python counts
    for node in reversed(filled_statements(path)):
        mark = mark_of(node)
        if mark is not None and is_wrong(mark) and isinstance(node, Named) and node.name in fails:
            text = _decorator(mark, fails[node.name], public=node.name in public)
            last = (mark.end_lineno or mark.lineno) - 1
            remark = lines[last].encode()[mark.end_col_offset :].decode()
            lines[mark.lineno - 1 : last + 1] = [text, remark]
    path.write_text("".join(lines), encoding="utf-8")


def _decorator(mark: ast.Call, fails: list[str], *, public: bool) -> str:
    """A decorator on one line where it fits, else as the formatter would write it."""
    names = [_quoted(name) for name in fails]
    before = [_quoted(ast.literal_eval(mark.args[0]))]
    before += [f"stops={_quoted(ast.literal_eval(k.value))}" for k in mark.keywords if k.arg == "stops"]
    after = ["public=True"] if public else []
    line = "@wrong(" + ", ".join([*before, "fails=[" + ", ".join(names) + "]", *after]) + ")"
    if len(line) <= _WIDTH:
        return line
    listed = ["fails=[", *(f"    {name}," for name in names), "],"]
    inner = [*(f"{one}," for one in before), *listed, *(f"{one}," for one in after)]
    return "\n".join(["@wrong(", *(f"    {one}" for one in inner), ")"])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
