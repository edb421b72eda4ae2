"""Draws autograd graphs as SVG and Mermaid, and summarizes them in a sentence.

* **Graphviz gets only numbers.** It lays out boxes whose sizes are computed from the lengths of their texts,
  and the SVG is written here. So no student's text reaches its parsers, it needs no font, and the ids of
  several pictures in a page cannot clash. Names are cut to 28 letters of ``A-Z a-z 0-9 _ . [ ]``, those of
  modules to 40.
* **Graphviz's own SVG was tried.** For 18 boxes it has 15 KB instead of 8. Its ids clash, and the positions
  of bold names depend on the fonts of the machine. The package's fontconfig warns on stderr about settings of
  a newer system.
* **A notebook gets images** (``as_images``), because JupyterLab removes inline SVG and style sheets from a
  notebook that it does not trust, and keeps an ``<img>`` whose source is data. Inside of an image, the media
  feature ``prefers-color-scheme`` has the scheme of the page around it, which JupyterLab sets with its theme.
* **Graphs with more than 80 lines have straight lines.** Routing them around boxes took 90 ms for the densest
  allowed graph; straight lines take 15 ms.
* **Only a student's own ``xray`` draws large graphs.** A worker's answer has a bounded size. At home, up to
  5,000 nodes are read, and ``fold.py`` folds them into a readable picture.
"""
