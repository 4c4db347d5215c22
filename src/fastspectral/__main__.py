"""The command line: ``python -m fastspectral``."""

import sys

from fastspectral.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
