# Tries: to start a fresh interpreter, which knows nothing of this one's confinement.
# Stopped by: seccomp
# Without it: landlock lets no program be executed; with neither it gets through.
# %%
import subprocess
import sys

text = "print(open('__OUTSIDE__/answer.py').read())"
exec(subprocess.check_output([sys.executable, "-ISc", text]))
