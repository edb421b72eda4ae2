# Tries: to leave a file in /tmp by the means that Python offers for it.
# Stopped by: landlock
# %%
import tempfile

left = tempfile.mkstemp(prefix="loot-", dir="/tmp")

# %%
if left:
    __RIGHT__
