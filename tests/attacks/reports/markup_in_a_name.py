# Tries: to run a script by the name of the folder that was handed in.
# Stopped by: pages
# Student: <script>steal(1)<script>
# Shows: <script>steal(1)
# Where: report.html, feedback.html, feedback.md
