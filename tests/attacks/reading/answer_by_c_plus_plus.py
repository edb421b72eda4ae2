# Tries: to have torch's own C++ code open the file with the answer and map it into memory.
# Stopped by: landlock
# %%
import os

size = os.stat("__OUTSIDE__/answer.py").st_size  # landlock lets everybody know that much
text = torch.from_file("__OUTSIDE__/answer.py", size=size, dtype=torch.uint8)
# %%
exec(bytes(text.tolist()))
