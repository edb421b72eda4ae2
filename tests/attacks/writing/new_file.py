# Tries: to leave a file in a folder where everybody may write.
# Stopped by: landlock
# %% right if it runs
open("__OUTSIDE__/writable/loot.txt", "w").close()
