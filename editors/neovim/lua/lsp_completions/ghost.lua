-- Ghost text for a Neovim that has none of its own, such as 0.11: when to ask, and what is shown.

local suggestion = require('lsp_completions.suggestion')

local M = {}

local PAUSE = 200 -- ms without a key before it asks, as in Neovim 0.12

local timer = assert(vim.uv.new_timer())
local asked -- the request that has no answer yet: client, id
local found, index = {}, 1 -- what was suggested, and which of it is shown
local drawn -- the buffer it is drawn in

--- The suggestion that is shown; nothing where none fits what was typed.
function M.current()
  return suggestion.rest(found[index]) and found[index]
end

local function draw(hint)
  if drawn then
    suggestion.clear(drawn)
    drawn = nil
  end
  if found[index] and vim.fn.pumvisible() == 0 and suggestion.draw(found[index], hint) then
    drawn = found[index].buffer
  end
end

local function show(suggestions)
  found, index = suggestions, 1
  draw()
end

local function cancel()
  if asked and asked.id and asked.client.requests[asked.id] then
    asked.client:cancel_request(asked.id)
  end
  asked = nil
end

local function stop()
  timer:stop()
  cancel()
  show({})
end

local function client()
  return vim.lsp.get_clients({ bufnr = 0, name = 'lsp_completions' })[1]
end

--- Ask for suggestions at the cursor, and show the first, or the one `chosen` by its number.
function M.ask(by_hand, chosen)
  timer:stop()
  cancel()
  local to = client()
  local typing = vim.api.nvim_get_mode().mode:match('^i')
  if to and typing and suggestion.wanted(vim.api.nvim_get_current_buf()) then
    local request = { client = to }
    asked = request
    request.id = suggestion.ask(to, by_hand, function(suggestions)
      if request == asked then
        asked = nil
        show(suggestions)
        if chosen and #found > 1 then
          M.select(chosen - 1)
        end
      end
    end)
  end
end

--- Show the one that is `count` further down the list, from the last to the first.
function M.select(count)
  if M.current() then
    index = (index - 1 + count) % #found + 1
    draw(#found > 1 and (' (%d/%d)'):format(index, #found) or nil)
  end
end

--- How many there are to choose from.
function M.count()
  return #found
end

--- Show none until more is typed.
M.dismiss = stop

--- Put the one that is shown into the text, or a part of it.
---@param part 'all'|'word'|'line'
function M.accept(part)
  local current = M.current()
  if current and suggestion.take(current, part) then
    stop()
    M.ask(false) -- the server has been told, and may have the next one ready
  else
    draw()
  end
end

--- Show suggestions while typing, or with `false` no more.
function M.enable(on)
  local group = vim.api.nvim_create_augroup('lsp_completions.ghost', { clear = true })
  stop()
  if on == false then
    return
  end
  vim.api.nvim_set_hl(0, 'ComplHint', { link = 'NonText', default = true })
  vim.api.nvim_set_hl(0, 'ComplHintMore', { link = 'MoreMsg', default = true })
  -- Where ghost text is announced, the server leaves the menu to other servers.
  local announced = { textDocument = { inlineCompletion = { dynamicRegistration = false } } }
  vim.lsp.config('lsp_completions', { capabilities = announced })
  local function follow()
    draw()
    timer:start(
      PAUSE,
      0,
      vim.schedule_wrap(function()
        if not M.current() then -- what is shown stays as long as it fits
          M.ask(false)
        end
      end)
    )
  end
  local typing = { 'InsertEnter', 'TextChangedI', 'CursorMovedI', 'CompleteDone', 'LspAttach' }
  vim.api.nvim_create_autocmd(typing, { group = group, callback = follow })
  local over = { 'InsertLeave', 'BufLeave', 'CompleteChanged' }
  vim.api.nvim_create_autocmd(over, { group = group, callback = stop })
end

return M
