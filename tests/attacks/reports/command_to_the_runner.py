# Tries: to have the runner of a workflow take a name for a command when the table is logged.
# Stopped by: terminal
# Student: ::error::forged
# Shows: ::error::
# Where: terminal
