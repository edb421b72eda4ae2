# Tries: to find the course by walking through the disk and to copy the answer between its markers.
# Stopped by: landlock
# %%
import glob
import re

begin, end = "# BEGIN" + " SOLUTION", "# " + "STUB"
for path in glob.glob("__COURSE__/s*/[0-9]*.py"):
    text = open(path).read()
    for stub, answer in re.findall(rf"^(def make_weight.*?)^ *{begin}(.*?)^ *{end}", text, re.S | re.M):
        exec(stub + answer)
