"""Reading and writing: files in, segments out; results in, files out."""
