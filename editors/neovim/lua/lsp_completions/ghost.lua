-- Ghost text for Neovim 0.11, which has none of its own; on 0.12 it can stand in for the built-in.
-- It shows what the server `lsp_completions` suggests, and binds no key: see README.md for that.

local M = {}

local METHOD = 'textDocument/inlineCompletion'
local PAUSE = 200 -- ms without a key before it asks, as in Neovim 0.12

local namespace = vim.api.nvim_create_namespace('lsp_completions.ghost')
local timer = assert(vim.uv.new_timer())
local asked -- the request that has no answer yet: client, id
local shown -- the suggestion: row, the line before and after it, text, how much of `after` it replaces

--- What typing has left of the suggestion, and the cursor's column; nothing where it does not fit.
local function rest()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if shown and shown.row == row - 1 and #shown.before <= column then
    local line = vim.api.nvim_get_current_line()
    local typed = line:sub(#shown.before + 1, column)
    local fits = line == shown.before .. typed .. shown.after and vim.startswith(shown.text, typed)
    if fits and typed ~= shown.text then
      return shown.text:sub(#typed + 1), column
    end
  end
end

local function draw()
  vim.api.nvim_buf_clear_namespace(0, namespace, 0, -1)
  local text, column = rest()
  if not text then
    return
  end
  local lines = vim.tbl_map(function(line)
    return { { line, 'ComplHint' } }
  end, vim.split(text, '\n'))
  local kept = shown.after:sub(shown.replaced + 1)
  local covers = shown.replaced > 0 or (#lines > 1 and kept ~= '')
  if covers then
    -- What follows the cursor is drawn over, and what stays of it again where it will stand.
    table.insert(lines[#lines], { kept })
    table.insert(lines[1], { (' '):rep(vim.fn.strdisplaywidth(shown.after)) })
  end
  vim.api.nvim_buf_set_extmark(0, namespace, shown.row, column, {
    virt_text = lines[1],
    virt_text_pos = covers and 'overlay' or 'inline',
    virt_lines = vim.list_slice(lines, 2),
    -- On top of the line the cursor's line keeps its colour only so; beside a bracket that is
    -- highlighted as the cursor's match, ghost text would look like it.
    hl_mode = covers and 'combine' or 'replace',
  })
end

local function cancel()
  if asked and asked.id then
    asked.client:cancel_request(asked.id)
  end
  asked = nil
end

local function stop()
  timer:stop()
  cancel()
  shown = nil
  draw()
end

local function ask()
  cancel()
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.get_clients({ bufnr = buffer, name = 'lsp_completions' })[1]
  local wanted = vim.api.nvim_get_mode().mode == 'i' and vim.b.lsp_completions ~= false
  if not client or not wanted or rest() then
    return -- what is shown stays as long as it fits
  end
  local line, column = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2]
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = 2 } -- nobody pressed a key for it
  local request = { client = client }
  asked = request
  -- The buffer by its number: for 0, what was typed last would not be sent first.
  _, request.id = client:request(METHOD, params, function(_, result)
    if request ~= asked then
      return
    end
    asked, shown = nil, nil
    local item = result and (result.items or result)[1]
    if item then
      local range = item.range or { start = params.position, ['end'] = params.position }
      local function byte(place)
        return vim.str_byteindex(line, client.offset_encoding, place.character, false)
      end
      shown = {
        row = params.position.line,
        before = line:sub(1, byte(range.start)),
        after = line:sub(column + 1),
        replaced = byte(range['end']) - column,
        text = item.insertText,
        accepted = function()
          return item.command and client:exec_cmd(item.command, { bufnr = buffer })
        end,
      }
    end
    draw()
  end, buffer)
end

--- Whether a suggestion is shown.
function M.visible()
  return rest() ~= nil
end

--- Put the suggestion into the text.
function M.accept()
  local suggestion, text, column = shown, rest()
  if text then
    stop()
    local row, lines = suggestion.row, vim.split(text, '\n')
    vim.api.nvim_buf_set_text(0, row, column, row, column + suggestion.replaced, lines)
    vim.api.nvim_win_set_cursor(0, { row + #lines, (#lines == 1 and column or 0) + #lines[#lines] })
    suggestion.accepted()
  end
end

--- Show suggestions while typing, or with `false` no more; `vim.b.lsp_completions = false` spares a buffer.
function M.enable(on)
  local group = vim.api.nvim_create_augroup('lsp_completions.ghost', { clear = true })
  stop()
  if on == false then
    return
  end
  vim.api.nvim_set_hl(0, 'ComplHint', { link = 'NonText', default = true })
  -- Where ghost text is announced, the server leaves the menu to other servers.
  local announced = { textDocument = { inlineCompletion = { dynamicRegistration = false } } }
  vim.lsp.config('lsp_completions', { capabilities = announced })
  local function follow()
    draw()
    timer:start(PAUSE, 0, vim.schedule_wrap(ask))
  end
  local typing = { 'InsertEnter', 'TextChangedI', 'CursorMovedI', 'CompleteDone' }
  vim.api.nvim_create_autocmd(typing, { group = group, callback = follow })
  local over = { 'InsertLeave', 'BufLeave', 'CompleteChanged' }
  vim.api.nvim_create_autocmd(over, { group = group, callback = stop })
end

return M
