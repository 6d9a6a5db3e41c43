"""Named public datasets: where they come from, checksums, local cache."""
