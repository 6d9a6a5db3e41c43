"""`python -m adequa` is the command line."""

from adequa.cli.main import main

if __name__ == "__main__":
    main()
