# Tries: the same with an equals sign of full width, which some programs take for one.
# Stopped by: spreadsheet
# Student: ＝2+3
# Shows: \n＝2+3,
# Where: gradebook.csv
