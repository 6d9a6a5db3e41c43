"""Ways to damage a good English sentence so that any person would rate it lower.

`apply.py` damages texts and `registry.py` lists the kinds of damage. The kinds are in one chapter
per subject: `entities`, `meaning`, `grammar`, `content`, `surface` and `symbols`; their word lists
are in `data/`. `base.py` has what all kinds share, and splits text into words and clauses.
"""
