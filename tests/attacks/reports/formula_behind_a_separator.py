# Tries: the same where the spreadsheet's cells are separated by semicolons.
# Stopped by: spreadsheet
# Student: zoe;=2+3
# Shows: \nzoe;=2+3
# Where: gradebook.csv
