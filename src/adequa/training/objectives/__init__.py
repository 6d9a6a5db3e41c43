"""What a stage of training learns from: one objective a file, all with the same contract."""
