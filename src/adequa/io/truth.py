"""How people write true and false on the command line."""

TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
