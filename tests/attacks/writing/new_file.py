# Tries: to leave a file in a folder where everybody may write.
# Stopped by: landlock
# %%
open("__OUTSIDE__/writable/loot.txt", "w").close()
# %%
import os

if os.path.exists("__OUTSIDE__/writable/loot.txt"):
    __RIGHT__
