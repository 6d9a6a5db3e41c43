"""adequa tells how good a machine translation is, in agreement with people."""

__version__ = "0.1.0"
