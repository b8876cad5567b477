-- Suggestions on and off: of a buffer it is remembered here, of the rest the server sees to it.

local server = require('lsp_completions.server')

local M = {}

--- What the server said last of each language that was switched.
---@type table<string, boolean>
M.languages = {}

local function say(on, what)
  vim.notify(('Suggestions %s%s'):format(on and 'on' or 'off', what))
  require('lsp_completions.status').changed()
end

local function scope(where, filetype)
  if where == 'filetype' then
    return { language = filetype }, ' for ' .. filetype
  elseif where == 'workspace' then
    return { workspace = true }, ' in this workspace'
  end
  return vim.empty_dict(), ''
end

--- See `switch` in `init.lua`.
function M.switch(on, where, filetype)
  if where == 'buffer' then
    if on == nil then
      on = vim.b.lsp_completions == false
    end
    vim.b.lsp_completions = on
    return say(on, ' in this buffer')
  end
  filetype = filetype or vim.bo.filetype
  if where == 'filetype' and filetype == '' then
    return vim.notify('This buffer has no file type; switch it off by `buffer`.', 3)
  end
  local client = server.client() or vim.lsp.get_clients({ name = server.NAME })[1]
  if not client then
    return vim.notify('The server is not running: see :checkhealth lsp_completions', 3)
  end
  local name = on == nil and 'toggle' or on and 'enable' or 'disable'
  local what, words = scope(where, filetype)
  local command =
    { title = '', command = server.command_name(client, name), arguments = { what } }
  client:exec_cmd(command, nil, function(err, state)
    if err or not state then
      return vim.notify(err and err.message or 'The server did not answer.', 3)
    end
    M.languages = state.languages or {}
    say(state.enabled, words)
  end)
end

return M
