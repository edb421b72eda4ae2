"""An autograd graph as data, drawn as SVG and as Mermaid, and said in a sentence.

* Graphviz gets numbers only. It lays out boxes whose sizes are counted from their letters, and the SVG is
  written here: no text of a student's reaches its parsers, no font is looked for, and several pictures
  stand in one page without ids that clash. Names are cut to 28 letters of ``A-Z a-z 0-9 _ . [ ]``.
* Many lines are straight, from 81 lines on. To lead lines around boxes took 90 ms for the densest graph
  that is allowed; straight lines take 15 ms.
"""
