"""The page of `lsp-completions inspect`: requests as they happen, served on this machine alone."""
