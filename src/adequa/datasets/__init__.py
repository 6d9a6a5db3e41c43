"""Named public datasets of human judgements: where they come from, checksums, the local cache."""
