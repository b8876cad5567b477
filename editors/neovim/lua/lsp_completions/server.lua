-- The server's process: what it is told of the editor, and that it comes back when it has died.

local M = {}

M.NAME = 'lsp_completions'

local MOST = 4 -- times within `WHILE` that it comes back by itself, as VS Code does it
local WHILE = 3 * 60 * 1000 -- ms
local PAUSE = 200 -- ms until Neovim has forgotten the one that died

local deaths = {} -- when it died lately

local function is_enabled()
  return not vim.lsp.is_enabled or vim.lsp.is_enabled(M.NAME)
end

local function enable()
  if is_enabled() then
    vim.lsp.enable(M.NAME)
  end
end

-- Told to leave it ends with 0, and with 143 by SIGTERM; whatever else ends it was nobody's wish.
local function ended(code, signal)
  if (code == 0 and signal == 0) or code == 143 or signal == 15 then
    return
  end
  vim.schedule(function()
    local now = vim.uv.now()
    deaths = vim.tbl_filter(function(died)
      return now - died < WHILE
    end, deaths)
    table.insert(deaths, now)
    if vim.v.exiting ~= vim.NIL then
      return
    elseif #deaths <= MOST then
      vim.defer_fn(enable, PAUSE)
    end
  end)
end

local configured = false

--- Add to the configuration of the server what the plugin needs, once.
function M.configure()
  if configured then
    return
  end
  configured = true
  local there = (vim.lsp.config[M.NAME] or {}).on_exit
  local on_exit = type(there) == 'table' and there or { there }
  local neovim = vim.version()
  vim.lsp.config(M.NAME, {
    init_options = {
      editorInfo = { name = 'Neovim', version = tostring(neovim) },
      -- Whoever names a plugin is told how things are.
      editorPluginInfo = { name = 'lsp-completions', version = '1' },
    },
    capabilities = { experimental = { lspCompletionsStatus = true } },
    handlers = {
      didChangeStatus = require('lsp_completions.status').on_change,
      ['lspCompletions/status'] = require('lsp_completions.status').on_status,
    },
    on_exit = vim.list_extend(vim.list_slice(on_exit), { ended }),
  })
  require('lsp_completions.status').watch()
  -- Without that, 0.11 takes no more of a menu entry than its first line.
  if vim.fn.has('nvim-0.12') == 0 then
    vim.api.nvim_create_autocmd('LspAttach', {
      group = vim.api.nvim_create_augroup('lsp_completions.menu', { clear = true }),
      callback = function(event)
        local client = vim.lsp.get_client_by_id(event.data.client_id)
        if client and client.name == M.NAME then
          vim.lsp.completion.enable(true, client.id, event.buf)
        end
      end,
    })
  end
end

--- The client of the server in a buffer, the current one if none is named.
---@return vim.lsp.Client?
function M.client(buffer)
  return vim.lsp.get_clients({ name = M.NAME, bufnr = buffer or 0 })[1]
end

--- End the server and start it anew, which reads all settings again.
function M.restart()
  deaths = {}
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME })) do
    client:stop()
  end
  local tries = 0
  local function again()
    local left = vim.lsp.get_clients({ name = M.NAME })
    tries = tries + 1
    if #left == 0 then
      return enable()
    elseif tries == 30 then -- three seconds are enough to say goodbye
      left[1]:stop(true)
    end
    if tries < 60 then
      vim.defer_fn(again, 100)
    end
  end
  vim.defer_fn(again, 100)
end

--- The name of one of the server's own commands.
---@return string
function M.command_name(client, name)
  return 'lspCompletions.' .. name .. ((client.config.init_options or {}).commandSuffix or '')
end

--- The command of the server, as it is configured.
---@return string[]
function M.command()
  local cmd = (vim.lsp.config[M.NAME] or {}).cmd
  return type(cmd) == 'table' and cmd or { 'lsp-completions' }
end

return M
