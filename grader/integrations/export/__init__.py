"""Outside: results in the forms of other systems, one module for each form."""
