# Tries: to copy the answer from a notebook that another student handed in.
# Stopped by: landlock
# %%
import json
import os

texts = []
for folder, _, files in os.walk("__COURSE__/submissions"):
    for name in files:
        if name.endswith(".ipynb"):
            try:
                cells = json.load(open(os.path.join(folder, name)))["cells"]
            except (ValueError, KeyError, OSError):
                continue
            texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
answers = [text for text in texts if text.startswith("def make_weight")]
# What most of them handed in, and not what the stub returns.
exec(next(text for text in answers if "requires_grad_(" in text and "retain" not in text))
