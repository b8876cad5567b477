-- `:LspCompletions`, and what stands behind it.

local server = require('lsp_completions.server')

local M = {}

local WHERE = { 'everywhere', 'workspace', 'buffer', 'filetype' }

local function switch(on)
  return {
    run = function(where, filetype)
      if where and not vim.list_contains(WHERE, where) then
        return vim.notify(('"%s" is none of %s'):format(where, table.concat(WHERE, ', ')), 3)
      end
      require('lsp_completions').switch(on, where, filetype)
    end,
    complete = function(words)
      if #words == 1 then
        return WHERE
      end
      return words[1] == 'filetype' and vim.fn.getcompletion(words[2], 'filetype') or {}
    end,
  }
end

-- A subcommand of the program itself, in a window of its own below.
local function in_terminal(name)
  return {
    run = function(...)
      local command = vim.list_extend({ server.command()[1], name }, { ... })
      vim.cmd('botright 15new')
      vim.fn.jobstart(command, { term = true })
      vim.cmd.startinsert()
    end,
  }
end

local SUBCOMMANDS = {
  status = {
    run = function()
      local status = require('lsp_completions').status()
      local reason = status.reason and ': ' .. status.reason or ''
      vim.api.nvim_echo({ { ('Suggestions: %s%s'):format(status.state, reason) } }, false, {})
    end,
  },
  enable = switch(true),
  disable = switch(false),
  toggle = switch(nil),
  suggest = {
    run = function()
      if vim.api.nvim_get_mode().mode:match('^i') then
        require('lsp_completions').suggest()
      else
        vim.api.nvim_create_autocmd('InsertEnter', {
          once = true,
          callback = vim.schedule_wrap(function()
            require('lsp_completions').suggest()
          end),
        })
        -- Behind the last character there is room only when appending.
        local at_end = vim.fn.col('.') >= vim.fn.col('$') - 1
        vim.cmd.startinsert({ bang = at_end })
      end
    end,
  },
  why = {
    run = function()
      require('lsp_completions.why').show()
    end,
  },
  restart = { run = server.restart },
  log = {
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
      vim.cmd('normal! G')
    end,
  },
  health = {
    run = function()
      vim.cmd.checkhealth('lsp_completions')
    end,
  },
  check = in_terminal('check'),
  login = in_terminal('login'),
  logout = in_terminal('logout'),
}

local function run(call)
  local name, rest = call.fargs[1] or 'status', vim.list_slice(call.fargs, 2)
  local subcommand = SUBCOMMANDS[name]
  if not subcommand then
    return vim.notify(('LspCompletions: there is no "%s"'):format(name), 3)
  end
  subcommand.run(unpack(rest))
end

local function complete(lead, line)
  local words = vim.split(line, '%s+', { trimempty = true })
  if lead == '' then
    table.insert(words, '')
  end
  local offered = vim.tbl_keys(SUBCOMMANDS)
  if #words > 2 then
    local subcommand = SUBCOMMANDS[words[2]]
    offered = subcommand and subcommand.complete and subcommand.complete(vim.list_slice(words, 3))
      or {}
  end
  offered = vim.tbl_filter(function(each)
    return vim.startswith(each, lead)
  end, offered)
  table.sort(offered)
  return offered
end

--- Create the command.
function M.create()
  vim.api.nvim_create_user_command('LspCompletions', run, {
    nargs = '*',
    complete = complete,
    desc = 'Suggestions: their state, and switches for them',
    force = true,
  })
end

return M
