"""What encoders and metrics run on: batches by length, the cache of vectors."""
