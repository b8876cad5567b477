-- How things are: whether suggestions come in this buffer, and if not, why.

local M = {}

local INLINE = 'textDocument/inlineCompletion'
local MOST = 60 -- characters of a reason in a status line

local told = {} -- what each server said last, by the id of its client
local standing = {} -- what it said last of the document at hand
local pending = {} -- ids of requests that have no answer yet, by the id of the client

--- Something has changed that status lines show.
function M.changed()
  vim.schedule(function()
    vim.api.nvim_exec_autocmds('User', { pattern = 'LspCompletionsStatus', modeline = false })
    vim.cmd.redrawstatus({ bang = true })
  end)
end

--- `didChangeStatus`, the server's word on how it is.
function M.on_change(_, status, context)
  told[context.client_id] = status
  M.changed()
end

--- `lspCompletions/status`, the same for the document at hand.
function M.on_status(_, status, context)
  standing[context.client_id] = status
  M.changed()
end

-- Which document is at hand, unless it is typed in.
local function focus(buffer)
  local client = require('lsp_completions.server').client(buffer)
  if client then
    local document = { uri = vim.uri_from_bufnr(buffer) }
    client:notify('textDocument/didFocus', { textDocument = document })
  end
end

--- Follow what is asked, so that a status line shows it.
function M.watch()
  local group = vim.api.nvim_create_augroup('lsp_completions.status', { clear = true })
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    callback = function(event)
      local data = event.data
      if data.request.method == INLINE then
        local of = pending[data.client_id] or {}
        pending[data.client_id] = of
        of[data.request_id] = data.request.type == 'pending' or nil
        M.changed()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ 'LspAttach', 'LspDetach' }, { group = group, callback = M.changed })
  vim.api.nvim_create_autocmd('BufEnter', {
    group = group,
    callback = function(event)
      focus(event.buf)
    end,
  })
end

--- See `status` in `init.lua`.
function M.status()
  local client = require('lsp_completions.server').client()
  if not client then
    return { state = 'none', reason = 'the server is not attached to this buffer' }
  end
  local word = told[client.id] or {}
  local here = standing[client.id] or {}
  if here.uri ~= vim.uri_from_bufnr(0) then
    here = {}
  end
  local languages = require('lsp_completions.switch').languages
  if vim.g.lsp_completions == false then
    return { state = 'off', reason = 'vim.g.lsp_completions is false' }
  elseif vim.b.lsp_completions == false then
    return { state = 'off', reason = 'in this buffer' }
  elseif word.kind == 'Inactive' then
    return { state = 'off', reason = word.message }
  elseif languages[vim.bo.filetype] == false then
    return { state = 'off', reason = 'for ' .. vim.bo.filetype }
  elseif here.state == 'off' or here.state == 'keptBack' then
    return { state = 'off', reason = here.message }
  elseif word.kind == 'Error' then
    return { state = 'error', reason = word.message }
  elseif word.kind == 'Warning' then
    return { state = 'warning', reason = word.message }
  elseif here.state == 'starting' then
    return { state = 'busy', reason = here.message }
  elseif next(pending[client.id] or {}) then
    return { state = 'busy' }
  end
  return { state = 'on' }
end

local WORDS = {
  on = 'suggestions',
  busy = 'suggestions …',
  off = 'no suggestions',
  warning = 'suggestions?',
  error = 'suggestions!',
}

--- What a server said last.
function M.told(client_id)
  return told[client_id] or {}
end

--- Who answers, as far as the server has said: the provider, and its model in brackets.
function M.provider(client_id)
  local here = standing[client_id] or {}
  if (here.provider or '') == '' then
    return nil
  end
  return here.model == '' and here.provider or ('%s (%s)'):format(here.provider, here.model)
end

--- See `statusline` in `init.lua`.
function M.statusline()
  local status = M.status()
  local words = WORDS[status.state]
  if not words or not status.reason then
    return words or ''
  end
  local reason = status.reason
  if vim.fn.strchars(reason) > MOST then
    reason = vim.fn.strcharpart(reason, 0, MOST - 1) .. '…'
  end
  -- A per cent sign is no item of a status line here.
  return (string.gsub(words .. ': ' .. reason, '%%', '%%%%'))
end

return M
