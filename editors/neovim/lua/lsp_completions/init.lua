-- LLM ghost text for any editor, from Sourcegraph or your own model: what you call. See
-- `:help lsp-completions`.

local M = {}

local engine -- who draws ghost text: Neovim itself, or `ghost.lua`

local function drawing()
  engine = engine
    or require('lsp_completions.builtin').adopt()
    or require('lsp_completions.ghost')
  return engine
end

---@class lsp_completions.Options
---@field keys? table<string, string|false>|false keys by what they do; see `keys.lua`

--- Start the server for every kind of file, and show what it suggests. Keys that are free are bound.
---@param options? lsp_completions.Options
function M.setup(options)
  vim.validate('options', options, 'table', true)
  options = options or {}
  require('lsp_completions.command').create()
  require('lsp_completions.server').configure()
  drawing().enable()
  require('lsp_completions.keys').bind(options.keys)
  vim.lsp.enable('lsp_completions')
end

--- Whether a suggestion is shown.
function M.visible()
  return drawing().current() ~= nil
end

--- Put the suggestion into the text.
function M.accept()
  drawing().accept('all')
end

--- Put its next word into the text.
function M.accept_word()
  drawing().accept('word')
end

--- Put its next line into the text.
function M.accept_line()
  drawing().accept('line')
end

local function choose(count)
  if drawing().count() > 1 then
    drawing().select(count)
  else
    drawing().ask(true, 2)
  end
end

--- Show the next one. Where only one is known, ask for more.
function M.next()
  choose(1)
end

--- Show the one before.
function M.previous()
  choose(-1)
end

--- Show none until more is typed.
function M.dismiss()
  drawing().dismiss()
end

--- Ask for a suggestion by hand.
function M.suggest()
  drawing().ask(true)
end

--- Switch suggestions on, off or, with nil, the other way round.
---@param on boolean?
---@param where? 'everywhere'|'workspace'|'buffer'|'filetype'
---@param filetype? string that of the buffer where it is missing
function M.switch(on, where, filetype)
  require('lsp_completions.switch').switch(on, where or 'everywhere', filetype)
  if on ~= true then
    drawing().dismiss()
  end
end

--- How things are in this buffer, for people and for status lines.
---@return { state: 'on'|'busy'|'off'|'warning'|'error'|'none', reason: string? }
function M.status()
  return require('lsp_completions.status').status()
end

--- The same in a few words, for a status line; empty where the server has no part in a buffer.
---@return string
function M.statusline()
  return require('lsp_completions.status').statusline()
end

--- Who draws ghost text: `builtin` or `ghost`.
function M.drawn_by()
  return drawing() == package.loaded['lsp_completions.builtin'] and 'builtin' or 'ghost'
end

return M
