"""ReVal: a Tree-LSTM compares two dependency trees."""
