"""`python -m lsp_completions` is the command `lsp-completions`."""

import sys

from lsp_completions.cli import main

if __name__ == "__main__":
    sys.exit(main())
