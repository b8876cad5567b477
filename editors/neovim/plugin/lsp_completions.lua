-- The command is there before anything is set up, and loads what it needs when it is called.

if vim.g.loaded_lsp_completions or vim.fn.has('nvim-0.11') == 0 then
  return
end
vim.g.loaded_lsp_completions = true

require('lsp_completions.command').create()
