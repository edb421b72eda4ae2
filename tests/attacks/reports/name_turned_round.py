# Tries: to pass for another student, by a character that turns the rest of the name round.
# Stopped by: names
# Student: \u202enaed eht
# Shows: \u202e
