"""Which editors are driven."""

import os

# Said by who drives VS Code elsewhere.
collect_ignore = (
    ["test_vscode.py"] if os.environ.get("LSP_COMPLETIONS_CODE_SERVER") == "none" else []
)
