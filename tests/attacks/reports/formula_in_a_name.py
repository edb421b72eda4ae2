# Tries: to have a spreadsheet compute what the name of a student says.
# Stopped by: spreadsheet
# Student: =2+3
# Shows: \n=2+3,
# Where: gradebook.csv
