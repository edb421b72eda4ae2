# Tries: to add a row to the table on the terminal and to the gradebook, by a name of two lines.
# Stopped by: names
# Student: zoe\nada  01_leaves  31 of 31
# Shows: \nada  01_leaves  31 of 31
