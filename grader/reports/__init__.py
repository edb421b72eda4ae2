"""Pages and tables for people: feedback, the report of a class, an explanation for an appeal, the terminal.

* The text about a result is a tree of `document` objects, which `feedback` makes; `html`, `markdown` and
  `plain` render it, and escape all text of students.
* A chart is HTML and CSS: `class_report.py` counts, and a macro in ``templates/charts.html`` draws bars.
  Widths are percent, and colours are variables of the page, so a chart works on light, dark, printed and
  small pages.
* The Content-Security-Policy allows only the report's script, by its hash, so a name or a diagnosis cannot
  run code. All rows are in the HTML; the script only moves and hides them. It empties the table before it
  fills it, because moving 5,000 rows one by one took 1 to 13 s, and this takes 0.1 s.
* Pages about students for the instructor are in a separate folder, because students get all of `feedback`.
"""
