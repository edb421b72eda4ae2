# Tries: to run a script in the browser of whoever opens the feedback, by the text of an error.
# Stopped by: pages
# Shows: <script>steal
# Where: report.html, feedback.html, feedback.md
# %%
def make_weight(shape, scale=0.1, seed=0):
    raise ValueError("<script>steal(document.cookie)</script>")
