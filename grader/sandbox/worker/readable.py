"""Inside the worker: which files a caged child may read, so that lazy imports work and no project shows."""

import os
import site
import stat
import sys
import sysconfig
from pathlib import Path

_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
)


def readable_paths() -> list[str]:
    """List what there is of Python's library, its installed packages and the system's shared libraries.

    A virtual environment lies inside a project, so only its `site-packages` is named, never the folder
    itself; what an editable install points at is not named either.
    """
    base = sys.base_prefix
    candidates = [
        *(f"{base}/lib", f"{base}/{sys.platlibdir}"),
        sysconfig.get_path("stdlib"),
        *site.getsitepackages([sys.prefix, base]),
        *([site.getusersitepackages()] if site.ENABLE_USER_SITE else []),
        *_SYSTEM,
    ]
    return [path for path in dict.fromkeys(candidates) if os.access(path, os.R_OK)]


def open_to_all(path: str) -> bool:
    """Tell whether a user who owns nothing can reach and read `path`, going by the permission bits."""
    named = Path(path).absolute()
    return all(_granted(place) for place in {named, named.resolve()})


def _granted(place: Path) -> bool:
    mode = place.stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in place.parents)
    return passable and mode & wanted == wanted
