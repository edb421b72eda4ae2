"""An autograd graph as data, drawn as SVG and as Mermaid, and said in a sentence.

* **Graphviz gets numbers only.** It lays out boxes whose sizes are counted from their letters, and the SVG is
  written here: no text of a student's reaches its parsers, it looks for no font, and ids of several pictures
  in a page cannot clash. Names are cut to 28 letters of ``A-Z a-z 0-9 _ . [ ]``, those of modules
  to 40.
* **Graphviz's own SVG was tried.** For 18 boxes it has 15 KB instead of 8. Its ids clash, and names in bold
  are placed by the fonts of the machine that draws. The package's fontconfig warns on stderr about settings
  of a newer system.
* **A notebook gets images** (``as_images``), because JupyterLab removes inline SVG and style sheets from a
  notebook that it does not trust, and keeps an ``<img>`` whose source is data.
* **From 81 lines on, lines are straight.** Leading them around boxes took 90 ms for the densest graph that is
  allowed; straight lines take 15 ms.
* **Only a student's own ``xray`` draws large graphs.** A worker's answer has a bounded size. At home, up to
  5,000 nodes are read, and ``fold.py`` folds them into a readable picture.
"""
