"""`python -m strongroom`: the command line."""

from strongroom.cli import main

if __name__ == "__main__":
    main()
