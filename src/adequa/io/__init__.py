"""Reading and writing: files to segments and judgements, results to files."""
