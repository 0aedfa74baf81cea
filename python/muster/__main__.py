"""The `muster` command: becomes the program."""
import os
import sys

from muster import MusterError, binary


def main() -> None:
    try:
        program = binary()
    except MusterError as missing:
        sys.exit(f"error: {missing}")
    os.execv(program, ["muster", *sys.argv[1:]])


if __name__ == "__main__":
    main()
