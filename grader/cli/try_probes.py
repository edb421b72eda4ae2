"""Outside: ``try``, the command that shows an author the facts of a few probes and pictures."""

from __future__ import annotations

import click


@click.command("try")
@click.argument("stem")
@click.argument("probes", metavar="PROBE...", nargs=-1, required=True)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="NAME",
    help="A known answer to look at beside the reference, or `stub` (may be repeated).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Decides the inputs that probes draw.")
def try_probes(stem: str, probes: tuple[str, ...], answers: tuple[str, ...], seed: int) -> None:
    """Show the facts of some probes, the reference's beside those of known answers.

    As in: try 02_backward_twice both --answer retains. It works as soon as the question and the probe are
    written, whatever else is blank. What a probe prints is shown, too. Of a picture it shows the sentence
    below it and the named tensors.
    """
    from grader.course.course import Course
    from grader.doctor.probe_run import run_probes
    from grader.doctor.probe_text import told

    for probe, seen in run_probes(Course.find(), stem, probes, answers, seed):
        for line in told(probe, seen):
            click.echo(line)
