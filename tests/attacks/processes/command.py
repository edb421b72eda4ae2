# Tries: to have another program read the answer.
# Stopped by: seccomp
# Without it: landlock lets no program be executed; with neither it gets through.
# %%
import subprocess

exec(subprocess.run(["/bin/cat", "__OUTSIDE__/answer.py"], capture_output=True, check=True).stdout)
