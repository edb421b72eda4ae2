"""An instructor's data about a class: students, deadlines and adjustments.

* `roster.csv`, `extensions.csv` and `adjustments.csv` are among the students' folders, or beside the folder
  that contains them; `course.toml` has the term's assignments and deadlines, which name no student.
* `collected.csv`, which ``collect`` writes, has the owners of notebooks and the times of submission.
* A file with a mistake is refused before anything is graded, with the line of the mistake.
"""
