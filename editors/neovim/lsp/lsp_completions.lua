-- LLM ghost text for any editor, from Sourcegraph or your own model.
-- On the runtime path, `vim.lsp.enable('lsp_completions')` starts the server for every kind of file.

-- What the server has to say stands in a corner for a while. On the command line, a sentence that
-- is longer than the line would wait for <Enter> while you type.
local function show_message(_, message)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(message.message, '\n'))
  local window = vim.api.nvim_open_win(buffer, false, {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = math.max(1, math.min(50, vim.o.columns - 2)),
    height = 1,
    style = 'minimal',
    border = 'single',
    focusable = false,
    noautocmd = true,
  })
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
  vim.api.nvim_win_set_height(window, vim.api.nvim_win_text_height(window, {}).all)
  vim.defer_fn(function()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end, 15000)
end

---@type vim.lsp.Config
return {
  cmd = { 'lsp-completions' },
  root_markers = { '.git' },
  handlers = { ['window/showMessage'] = show_message },
}
