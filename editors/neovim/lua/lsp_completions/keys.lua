-- The keys of insert mode. A key that does something already is left alone; one of ours does what it
-- did before where no suggestion is shown.

local M = {}

local function when_shown()
  return require('lsp_completions').visible()
end

local function when_attached()
  return #vim.lsp.get_clients({ name = 'lsp_completions', bufnr = 0 }) > 0
end

M.defaults = {
  accept = '<Tab>',
  accept_word = '<M-Right>',
  accept_line = '<M-C-Right>',
  next = '<M-]>',
  previous = '<M-[>',
  dismiss = '<C-]>',
  suggest = '<M-\\>',
}

local ACTIONS = {
  accept = { when = when_shown, says = 'Accept the suggestion' },
  accept_word = { when = when_shown, says = 'Accept the next word of it' },
  accept_line = { when = when_shown, says = 'Accept the next line of it' },
  next = { when = when_shown, says = 'Next suggestion' },
  previous = { when = when_shown, says = 'Previous suggestion' },
  dismiss = { when = when_shown, says = 'Dismiss the suggestion' },
  suggest = { when = when_attached, says = 'Ask for a suggestion' },
}

--- What became of each action: its key, and whose it is if not ours.
---@type table<string, { lhs: string, taken: string? }>
M.bound = {}

-- What Neovim itself maps may be mapped over, as long as it still works.
local function is_neovims(mapping)
  return mapping.callback and (mapping.desc or ''):match('^vim%.')
end

local function describe(mapping)
  local rhs = mapping.rhs ~= '' and mapping.rhs
  return mapping.desc or rhs or 'a Lua function'
end

local function bind(name, lhs)
  local action = ACTIONS[name]
  local before = vim.fn.maparg(lhs, 'i', false, true)
  if not vim.tbl_isempty(before) and not is_neovims(before) then
    M.bound[name] = { lhs = lhs, taken = describe(before) }
    return
  end
  M.bound[name] = { lhs = lhs }
  local call = ('<Cmd>lua require("lsp_completions").%s()<CR>'):format(name)
  vim.keymap.set('i', lhs, function()
    if action.when() then
      return call
    end
    return before.callback and before.callback() or lhs
  end, { expr = true, desc = 'lsp-completions: ' .. action.says })
end

--- Bind the keys that are free. `keys` has others by the names of the actions, false for none.
---@param keys? table<string, string|false>|false
function M.bind(keys)
  vim.validate('keys', keys, { 'table', 'boolean' }, true)
  if keys == false or next(M.bound) then
    return
  end
  for name in pairs(keys or {}) do
    if not ACTIONS[name] then
      local known = table.concat(vim.tbl_keys(ACTIONS), ', ')
      error(('lsp_completions: there is no action "%s"; there are %s'):format(name, known), 0)
    end
  end
  for name, lhs in pairs(vim.tbl_extend('force', M.defaults, keys or {})) do
    if lhs then
      bind(name, lhs)
    end
  end
end

return M
