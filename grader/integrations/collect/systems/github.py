"""GitHub's "Download ZIP": a folder that has the name of the repository and the branch."""

from __future__ import annotations

import re

from grader.errors import GraderError
from grader.integrations.collect.folders import by_folders
from grader.integrations.collect.model import Context, Listing, System
from grader.integrations.collect.source import MOST_NAMED, Source
from grader.text import some, terminal_text

_NAME = re.compile(r"(?P<repository>.+)-(?:main|master)(?: ?\(\d+\))?", re.DOTALL)  # a browser adds a number


def read(source: Source, context: Context) -> Listing | None:
    """Folders of repositories, of which the branch is left out; clones may lie beside them.

    Raises:
        GraderError: other folders lie beside them, which may be downloads of other branches.
    """
    clones = {folder[0] for folder in source.clones}
    tops = ({folder[0] for folder in source.folders} | source.tops) - clones
    downloads = {top: found["repository"] for top in tops if (found := _NAME.fullmatch(top))}
    if not downloads:
        return None
    if others := sorted(tops - downloads.keys()):
        listed = terminal_text(", ".join(some(others, MOST_NAMED)))
        raise GraderError(
            f"{SYSTEM.title} names folders {SYSTEM.pattern}, but not: {listed}. If these are other branches,"
            " name the folders so that they end in -main; otherwise move them away."
        )
    return by_folders(source, context, downloads)


SYSTEM = System(
    key="github",
    title='GitHub\'s "Download ZIP"',
    pattern="<repository>-main or <repository>-master",
    example=("leaves-ada-main/01_leaves.ipynb", "ada"),
    about="unpack the zips into one folder, and add `--prefix leaves`",
    read=read,
    folder=_NAME,
)
