"""An instructor's data about a class: students, deadlines and adjustments.

* `roster.csv`, `extensions.csv` and `adjustments.csv` lie among the students' folders or beside the folder
  that holds them; `course.toml` has the term's assignments and deadlines, which name no student.
* `collected.csv`, which ``collect`` writes, says whose the notebooks are and when they were submitted.
* A file with a mistake is refused with its line, before anything is graded.
"""
