"""Pages and tables for people: feedback, the report of a class, an explanation for an appeal, the terminal.

* What is said about a result is a tree of `document`, which `feedback` makes; `html`, `markdown` and `plain`
  render it, and escape everything of a student's.
* A chart is HTML and CSS: `class_report.py` counts, and a macro in ``templates/charts.html`` draws bars.
  Widths are percent, and colours are variables of the page, so a drawing serves light, dark, print and phone.
* The report's script is named by its hash in the Content-Security-Policy: nothing else can run, whatever a
  name or a diagnosis holds. All rows are in the HTML; the script only moves and hides them. It empties the
  table before it fills it, because moving 5,000 rows each by itself took 1 to 13 s, and this takes 0.1 s.
* What an instructor reads about a student has a folder of its own: students get all of `feedback`.
"""
