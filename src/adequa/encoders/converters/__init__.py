"""Converters of published encoders into folders of plain arrays, each run with `python -m`."""
