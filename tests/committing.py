"""Git commits at times that tests choose."""

import os
import subprocess


def git(repository, *arguments, when=1_500_000_000, check=True):
    """Run git in a repository as an author at a time, in seconds since 1970."""
    stamp = f"@{int(when)} +0000"
    variables = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *who, *arguments]
    return subprocess.run(command, cwd=repository, env=variables, capture_output=True, text=True, check=check)


def commit_all(repository, when=1_500_000_000):
    """Commit all that is in a folder, which becomes a repository."""
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", "saved", when=when)
