-- LLM ghost text for any editor, from Sourcegraph or your own model.
-- On the runtime path, `vim.lsp.enable('lsp_completions')` starts the server for every kind of file.

-- What the server has to say is kept for `:messages`. Drawn on the command line, a sentence longer
-- than the line would wait for <Enter> while you type. Neovim may take other events meanwhile, and
-- would drop a completion menu that comes then: so not in insert mode.
local function keep(text)
  if vim.api.nvim_get_mode().mode:match('^i') then
    vim.api.nvim_create_autocmd('InsertLeave', {
      once = true,
      callback = vim.schedule_wrap(function()
        keep(text)
      end),
    })
    return
  end
  local before = { messagesopt = vim.o.messagesopt, more = vim.o.more }
  vim.o.messagesopt, vim.o.more = before.messagesopt:gsub('hit%-enter', 'wait:0'), false
  vim.api.nvim_echo({ { text } }, true, {})
  vim.cmd.redraw()
  vim.o.messagesopt, vim.o.more = before.messagesopt, before.more
end

-- It is shown in a corner for a while, or until insert mode ends; what comes meanwhile, below it.
local window

local function close()
  if window and pcall(vim.api.nvim_win_close, window, true) then
    window = nil
  end
end

local function show_message(_, message)
  keep(message.message)
  local lines = vim.split(message.message, '\n')
  if window and vim.api.nvim_win_is_valid(window) then
    local earlier = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    lines = vim.iter({ earlier, '', lines }):flatten():totable()
  end
  close()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local rows = vim.o.lines - vim.o.cmdheight - 1
  local this = vim.api.nvim_open_win(buffer, false, {
    relative = 'editor',
    anchor = 'SE',
    row = rows,
    col = vim.o.columns,
    width = math.max(1, math.min(50, vim.o.columns - 2)),
    height = 1,
    style = 'minimal',
    border = 'single',
    focusable = false,
    noautocmd = true,
  })
  vim.wo[this].wrap, vim.wo[this].linebreak = true, true
  local height = vim.api.nvim_win_text_height(this, {}).all
  vim.api.nvim_win_set_height(this, math.max(1, math.min(height, rows - 2)))
  vim.api.nvim_win_set_cursor(this, { #lines, 0 })
  window = this
  local group = vim.api.nvim_create_augroup('lsp_completions.message', { clear = true })
  vim.api.nvim_create_autocmd('InsertLeave', { group = group, callback = close })
  vim.defer_fn(function()
    if window == this then
      close()
    end
  end, 15000)
end

-- Ghost text looks like `NonText`, which the default colours leave plain in a terminal without true
-- colour: like code. Colours of your own for `ComplHint` stay as they are.
local function dim()
  local base = vim.api.nvim_get_hl(0, { name = 'NonText', link = false })
  vim.api.nvim_set_hl(0, 'LspCompletionsHint', vim.tbl_extend('keep', base, { ctermfg = 8 }))
  local hint = vim.api.nvim_get_hl(0, { name = 'ComplHint' })
  if hint.link == 'NonText' or vim.tbl_isempty(hint) then
    vim.api.nvim_set_hl(0, 'ComplHint', { link = 'LspCompletionsHint' })
  end
end

dim()
local group = vim.api.nvim_create_augroup('lsp_completions.colour', { clear = true })
vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = dim })
vim.api.nvim_create_autocmd('OptionSet', { group = group, pattern = 'background', callback = dim })

---@type vim.lsp.Config
return {
  cmd = { 'lsp-completions' },
  root_markers = { '.git' },
  handlers = { ['window/showMessage'] = show_message },
}
