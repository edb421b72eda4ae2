# Tries: to push the stand-in aside, import the real grader and ask it for the reference answer.
# Stopped by: landlock
# Flags: imports at run time
# %%
import sys

for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
    del sys.modules[name]
sys.path.insert(0, "__COURSE__")
sys.path_importer_cache.clear()
# %%
import grader.contracts.check  # in several cells, because each may take a second
# %%
import grader.course.rubric
# %%
from grader.course.course import Course
# %%
course = Course.find(__import__("pathlib").Path("__COURSE__"))
# %%
exec(course.assignment("01_leaves").questions[0].answer)
