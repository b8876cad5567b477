-- A suggestion: whether it still fits the text, how it is drawn, and how it is put into the text.
-- Which one is shown, and when one is asked for, is up to `ghost.lua` and `builtin.lua`.

local M = {}

local INLINE = 'textDocument/inlineCompletion'
local namespace = vim.api.nvim_create_namespace('lsp_completions')

---@class lsp_completions.Place Where a suggestion is asked for
---@field buffer integer
---@field row integer from 0
---@field column integer bytes
---@field line string

---@class lsp_completions.Suggestion
---@field client vim.lsp.Client
---@field item lsp.InlineCompletionItem as it came
---@field buffer integer
---@field row integer
---@field before string the line in front of it
---@field after string the line behind the cursor
---@field replaced integer how many bytes of that it replaces
---@field text string what it inserts between them; parts that were accepted are gone from it
---@field taken string those parts
---@field shown boolean whether the server was told that it is on the screen

---@return lsp_completions.Place
function M.here()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local buffer = vim.api.nvim_get_current_buf()
  return { buffer = buffer, row = row - 1, column = column, line = vim.api.nvim_get_current_line() }
end

--- Whether there are suggestions in a buffer, as far as this editor decides it.
function M.wanted(buffer)
  return vim.g.lsp_completions ~= false and vim.b[buffer].lsp_completions ~= false
end

--- Ask the server; what it suggests is handed to `answered`, none as an empty list. One that is no
--- longer wanted is to be cancelled by the caller.
---@param client vim.lsp.Client
---@param by_hand boolean
---@param answered fun(suggestions: lsp_completions.Suggestion[], items: lsp.InlineCompletionItem[])
---@return integer? id of the request
function M.ask(client, by_hand, answered)
  local place = M.here()
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = by_hand and 1 or 2 }
  -- The buffer by its number: for 0, what was typed last would not be sent first.
  local _, id = client:request(INLINE, params, function(err, result)
    if err or not result then
      return -- another request has taken its place
    end
    local suggestions, items = {}, {}
    for _, item in ipairs(result.items or result) do
      local suggestion = M.new(client, item, place, params.position)
      if suggestion then
        table.insert(suggestions, suggestion)
        table.insert(items, item)
      end
    end
    answered(suggestions, items)
  end, place.buffer)
  return id
end

--- What a server answered to a question asked at `place`; nothing where that is no suggestion.
---@return lsp_completions.Suggestion?
function M.new(client, item, place, position)
  local range = item.range or { start = position, ['end'] = position }
  if type(item.insertText) ~= 'string' or range.start.line ~= place.row then
    return
  end
  local function with(line, column)
    local function byte(at)
      return vim.str_byteindex(line, client.offset_encoding, at.character, false)
    end
    local from, to = byte(range.start), byte(range['end'])
    return from <= column
      and column <= to
      and {
        client = client,
        item = item,
        buffer = place.buffer,
        row = place.row,
        before = line:sub(1, from),
        after = line:sub(column + 1),
        replaced = to - column,
        text = item.insertText,
        taken = '',
        shown = false,
      }
  end
  local asked = with(place.line, place.column)
  if asked and M.rest(asked) then
    return asked
  end
  -- The server may know what was typed meanwhile, and have answered for that.
  local here = M.here()
  local now = here.buffer == place.buffer
    and here.row == place.row
    and here.line ~= place.line
    and with(here.line, here.column)
  return now and M.rest(now) and now or asked or nil
end

--- What typing has left of the suggestion, and the cursor's column; nothing where it does not fit.
---@return string?, integer?
function M.rest(suggestion)
  if not suggestion or suggestion.buffer ~= vim.api.nvim_get_current_buf() then
    return
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local before, after = suggestion.before, suggestion.after
  if suggestion.row == row - 1 and #before <= column then
    local line = vim.api.nvim_get_current_line()
    local typed = line:sub(#before + 1, column)
    local fits = line == before .. typed .. after and vim.startswith(suggestion.text, typed)
    if fits and typed ~= suggestion.text then
      return suggestion.text:sub(#typed + 1), column
    end
  end
end

function M.clear(buffer)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  end
end

--- Draw what is left of it as ghost text, with a `hint` behind it; false where it does not fit.
---@param hint? string such as ` (1/3)`
---@return boolean
function M.draw(suggestion, hint)
  local text, column = M.rest(suggestion)
  if not text then
    return false
  end
  local lines = vim.tbl_map(function(line)
    return { { line, 'ComplHint' } }
  end, vim.split(text, '\n'))
  if hint then
    table.insert(lines[1], { hint, 'ComplHintMore' })
  end
  local kept = suggestion.after:sub(suggestion.replaced + 1)
  local covers = suggestion.replaced > 0 or (#lines > 1 and kept ~= '')
  if covers then
    -- What follows the cursor is drawn over, and what stays of it again where it will stand.
    table.insert(lines[#lines], { kept })
    table.insert(lines[1], { (' '):rep(vim.fn.strdisplaywidth(suggestion.after)) })
  end
  vim.api.nvim_buf_set_extmark(suggestion.buffer, namespace, suggestion.row, column, {
    virt_text = lines[1],
    virt_text_pos = covers and 'overlay' or 'inline',
    virt_lines = vim.list_slice(lines, 2),
    -- On top of the line the cursor's line keeps its colour only so; beside a bracket that is
    -- highlighted as the cursor's match, ghost text would look like it.
    hl_mode = covers and 'combine' or 'replace',
  })
  if not suggestion.shown then
    suggestion.shown = true
    suggestion.client:notify('textDocument/didShowCompletion', { item = suggestion.item })
  end
  return true
end

-- The first line break with what stands before it, the blanks of the next line included: where the
-- cursor would be after typing it.
local function next_line(text)
  return text:match('^\n*[^\n]*') .. (text:match('^\n*[^\n]*(\n[ \t]*)[^\n]') or '')
end

local function next_word(text)
  local blanks = text:match('^%s*')
  local rest = text:sub(#blanks + 1)
  -- Letters of any script, digits and `_`, or else a run of other signs.
  local keyword = vim.fn.matchstr(rest, [=[^\%([[:alnum:]_]\|[^\x00-\x7f]\)\+]=])
  local word = keyword ~= '' and keyword or vim.fn.matchstr(rest, [=[^[^[:alnum:]_[:space:]]\+]=])
  return blanks .. word
end

local PARTS = {
  all = function(text)
    return text
  end,
  word = next_word,
  line = next_line,
}

-- What was typed before it and what is typed behind it are undone apart from it.
local function break_undo()
  vim.bo.undolevels = vim.bo.undolevels
end

--- Put what is left of it into the text, or its next `word` or `line`; whether all is taken then.
---@param part 'all'|'word'|'line'
---@return boolean
function M.take(suggestion, part)
  local text, column = M.rest(suggestion)
  if not text then
    return true
  end
  local piece = PARTS[part](text)
  local whole = piece == text
  local row, lines = suggestion.row, vim.split(piece, '\n')
  local over = whole and suggestion.replaced or 0
  local typed = suggestion.text:sub(1, #suggestion.text - #text)
  suggestion.taken = suggestion.taken .. typed .. piece
  local last = lines[#lines]
  local line = vim.api.nvim_buf_get_lines(suggestion.buffer, row, row + 1, false)[1]
  break_undo()
  vim.api.nvim_buf_set_text(suggestion.buffer, row, column, row, column + over, lines)
  suggestion.row = row + #lines - 1
  suggestion.before = (#lines == 1 and line:sub(1, column) or '') .. last
  suggestion.text = text:sub(#piece + 1)
  vim.api.nvim_win_set_cursor(0, { suggestion.row + 1, #suggestion.before })
  break_undo()
  if whole and part == 'all' then
    if suggestion.item.command then
      suggestion.client:exec_cmd(suggestion.item.command, { bufnr = suggestion.buffer })
    end
  else
    local accepted = vim.str_utfindex(suggestion.taken, 'utf-16')
    local report = { item = suggestion.item, acceptedLength = accepted }
    suggestion.client:notify('textDocument/didPartiallyAcceptCompletion', report)
  end
  return whole
end

return M
