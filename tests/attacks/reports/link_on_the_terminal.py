# Tries: to have the terminal show a link of the student's, by markup in a name.
# Stopped by: terminal
# Student: [link=https:evil]ada[link]
# Shows: \x1b]8;
# Where: terminal
