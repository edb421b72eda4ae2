"""Outside: autograd graphs as facts tell them, drawn for students: SVG, and Mermaid in Markdown."""
