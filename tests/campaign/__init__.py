"""A fault campaign against readers, archives, saved metrics, training and the service."""
