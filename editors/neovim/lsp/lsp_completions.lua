-- LLM ghost text for any editor, from Sourcegraph or your own model.
-- On the runtime path, `vim.lsp.enable('lsp_completions')` starts the server for every kind of file.

---@type vim.lsp.Config
return {
  cmd = { 'lsp-completions' },
  root_markers = { '.git' },
}
