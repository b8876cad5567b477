-- `:checkhealth lsp_completions`: everything of the editor's; the rest is for `lsp-completions check`.

local server = require('lsp_completions.server')

local M = {}

local health = vim.health

local function program()
  local command = server.command()
  local path = vim.fn.exepath(command[1])
  if path == '' then
    health.error(('`%s` is not on the PATH of Neovim'):format(command[1]), {
      'Install it as the README says: uv tool install, or pipx install',
      "Or name its place: vim.lsp.config('lsp_completions', { cmd = { '/path/to/lsp-completions' } })",
    })
    return
  end
  local ran, process = pcall(vim.system, { path, '--version' }, { text = true, timeout = 20000 })
  local said = ran and process:wait()
  if said and said.code == 0 then
    health.ok(('%s (%s)'):format(vim.trim(said.stdout), path))
  else
    health.error(path .. ' does not start', { said and vim.trim(said.stderr) or tostring(process) })
  end
end

local function clients()
  local running = vim.lsp.get_clients({ name = server.NAME })
  if #running == 0 then
    health.warn('The server is not running', {
      "Open a file; if there is still none: require('lsp_completions').setup() in init.lua",
      'See what it said last: :LspCompletions log',
    })
    return
  end
  for _, client in ipairs(running) do
    local buffers = vim.tbl_count(client.attached_buffers)
    health.ok(('The server is attached to %d buffer%s'):format(buffers, buffers == 1 and '' or 's'))
    local provider = require('lsp_completions.status').provider(client.id)
    if provider then
      health.ok('Suggestions come from ' .. provider)
    end
    local told = require('lsp_completions.status').told(client.id)
    if told.kind == 'Error' then
      health.error(told.message, { ':LspCompletions check' })
    elseif told.kind == 'Warning' then
      health.warn(told.message, { ':LspCompletions check' })
    elseif told.kind == 'Inactive' then
      health.warn(told.message, { ':LspCompletions enable' })
    end
  end
  if vim.g.lsp_completions == false then
    health.warn('vim.g.lsp_completions is false: nothing is suggested in any buffer')
  end
end

local DRAWN = {
  builtin = 'Ghost text is drawn by vim.lsp.inline_completion, mended',
  ghost = 'Ghost text is drawn by this plugin',
}

local function keys()
  local bound = require('lsp_completions.keys').bound
  local names = vim.tbl_keys(bound)
  table.sort(names)
  for _, name in ipairs(names) do
    local key = bound[name]
    local now = vim.fn.maparg(key.lhs, 'i', false, true).desc or ''
    if key.taken then
      local example = ("setup({ keys = { %s = '<C-l>' } })"):format(name)
      health.warn(('%s: %s was bound already: %s'):format(name, key.lhs, key.taken), { example })
    elseif not vim.startswith(now, 'lsp-completions: ') then
      health.info(('%s: %s was bound anew by something else'):format(name, key.lhs))
    else
      health.ok(('%s: %s'):format(name, key.lhs))
    end
  end
  if #names == 0 then
    health.info('No key is bound by this plugin')
  end
end

-- Plugins that draw ghost text of their own, by what they leave behind.
local OTHERS = {
  ['copilot.vim'] = function()
    return vim.g.loaded_copilot == 1
  end,
  ['copilot.lua'] = function()
    return package.loaded['copilot'] ~= nil
  end,
  ['codeium.vim'] = function()
    return vim.g.loaded_codeium == 1
  end,
  ['supermaven-nvim'] = function()
    return package.loaded['supermaven-nvim'] ~= nil
  end,
  ['minuet-ai.nvim'] = function()
    return package.loaded['minuet'] ~= nil
  end,
}

local function others()
  for name, is_there in vim.spairs(OTHERS) do
    if is_there() then
      health.warn(name .. ' draws ghost text as well', { 'Two of them cover each other: keep one' })
    end
  end
end

function M.check()
  health.start('lsp-completions: the server')
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or later is needed')
    return
  end
  program()
  clients()
  health.start('lsp-completions: ghost text')
  health.ok(DRAWN[require('lsp_completions').drawn_by()])
  keys()
  others()
  health.start('lsp-completions: the rest')
  health.info('Whether suggestions can be had at all: :LspCompletions check')
  health.info('Why there was nothing at the cursor: :LspCompletions why')
  health.info('What the server does, line by line: lsp-completions log -f, in a terminal')
  health.info('The log of all language servers: ' .. vim.lsp.log.get_filename())
end

return M
