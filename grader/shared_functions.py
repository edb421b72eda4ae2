"""Outside: functions that several assignments ask for, which makes renamed notebooks hard to recognise."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping


def shared_functions(functions: Mapping[str, Collection[str]]) -> Iterator[str]:
    """One sentence for each function that more than one assignment asks for.

    Args:
        functions: the names each assignment asks for, by stem.
    """
    names = sorted({name for asked in functions.values() for name in asked})
    for name in names:
        stems = [stem for stem, asked in functions.items() if name in asked]
        if len(stems) > 1:
            yield (
                f"{' and '.join(f'solutions/{stem}.py' for stem in stems)} both ask for {name}, by which a"
                " renamed notebook is recognised: give one of them another name"
            )
