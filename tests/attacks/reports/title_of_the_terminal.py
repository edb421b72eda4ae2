# Tries: to change the title of the terminal, by control characters in a name.
# Stopped by: names
# Student: ada\x1b]0;owned\x07
# Shows: \x1b]0;owned
