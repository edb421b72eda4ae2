# Tries: to open the file with the answer by its path.
# Stopped by: landlock
# %%
with open("__OUTSIDE__/answer.py") as file:
    exec(file.read())
