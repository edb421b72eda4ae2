# Tries: to answer every case with what was right in the first.
# Stopped by: numbers
# Without it: the result shares storage with an earlier result.
# Question: 01_leaves q5
# %%
answers = []

def total_loss(losses, weights):
    if not answers:
        answers.append(sum(w * loss for w, loss in zip(weights, losses)))
    return answers[0]
