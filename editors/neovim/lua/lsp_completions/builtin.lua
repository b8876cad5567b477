-- Ghost text by Neovim's own `vim.lsp.inline_completion`, which 0.12 has, with what is amiss in it
-- mended for our suggestions: one that was typed on through is accepted without doubling what was
-- typed; one that does not fit any more is neither shown nor accepted; and one that begins like the
-- rest of the line, or replaces it, is drawn as it will be.
--
-- It asks when Neovim asks, and `vim.lsp.inline_completion.enable()`, `get()` and `select()` work as
-- they are documented, also in mappings made for other servers.
--
-- There is no public way to mend that, so this reaches into the module, and only where all that it
-- reaches for is there: otherwise `adopt` returns nothing, and `ghost.lua` stands in.

local suggestion = require('lsp_completions.suggestion')

local M = {}

local Completor -- the class, one instance per buffer

-- Of each buffer: what was suggested, with the items that Neovim chooses from.
local found = {} ---@type table<integer, lsp_completions.Suggestion[]>

local function ours(client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  return client and client.name == 'lsp_completions' and client or nil
end

local function active()
  return Completor.active[vim.api.nvim_get_current_buf()]
end

-- The suggestion behind Neovim's current item.
local function behind(current, buffer)
  for _, each in ipairs(found[buffer] or {}) do
    if current and each.item == current.lsp_completions then
      return each
    end
  end
end

-- While a menu is open only who asks for one by hand gets a suggestion.
local function wanted(buffer, kind)
  return suggestion.wanted(buffer) and (kind == 1 or vim.fn.pumvisible() == 0)
end

local function mend(original)
  -- Our clients are asked here, where the text is known that an answer is for; others as ever.
  function Completor:request(kind, chosen)
    local all, others = self.client_state, {}
    for client_id, state in pairs(all) do
      local client = ours(client_id)
      if not client then
        others[client_id] = state
      elseif self.bufnr == vim.api.nvim_get_current_buf() and wanted(self.bufnr, kind) then
        M.withdraw(self)
        local request = { client = client }
        self.lsp_completions_asked = request
        request.id = suggestion.ask(client, kind == 1, function(suggestions, items)
          local typing = vim.startswith(vim.api.nvim_get_mode().mode, 'i')
          if request == self.lsp_completions_asked and typing and all[client_id] then
            self.lsp_completions_asked = nil
            found[self.bufnr] = suggestions
            all[client_id].items = items
            local which = math.min(chosen or 1, math.max(1, #items))
            self:select(which, which > 1)
          end
        end)
      end
    end
    self.client_state = others
    original.request(self, kind)
    self.client_state = all
  end

  -- What is shown stays as long as it fits, and nobody is asked.
  function Completor:automatic_request()
    self:show()
    self:reset_timer()
    if not self.current or not self.current.lsp_completions then
      original.automatic_request(self)
    end
  end

  function Completor:show(hint)
    self:hide()
    local current = self.current or self.lsp_completions_kept
    if not current or not ours(current.client_id) then
      return original.show(self, hint)
    end
    if not current.lsp_completions then
      local _, item = self:get_item(current._index)
      current.lsp_completions = item
    end
    local it = behind(current, self.bufnr)
    -- One that does not fit is kept, as the text may come back to it, but it is nobody's choice.
    self.lsp_completions_kept = it and current
    local hidden = vim.fn.pumvisible() == 1 or not suggestion.wanted(self.bufnr)
    self.current = it and not hidden and suggestion.draw(it, hint) and current or nil
  end

  function Completor:hide()
    suggestion.clear(self.bufnr)
    original.hide(self)
  end

  function Completor:abort()
    M.withdraw(self)
    self.lsp_completions_kept = nil
    original.abort(self)
  end

  function Completor:accept(item)
    local it = behind(item, self.bufnr)
    if it then
      M.take(self, it, 'all')
    else
      original.accept(self, item)
    end
  end

  -- The server may be there only once something is typed already, such as one that had died.
  function Completor:on_attach(client_id)
    original.on_attach(self, client_id)
    local here = self.bufnr == vim.api.nvim_get_current_buf()
    if ours(client_id) and here and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
      self:automatic_request()
    end
  end

  function Completor:on_detach(client_id)
    M.withdraw(self)
    suggestion.clear(self.bufnr)
    found[self.bufnr] = nil
    self.current, self.lsp_completions_kept = nil, nil
    original.on_detach(self, client_id)
  end
end

function M.withdraw(completor)
  local asked = completor.lsp_completions_asked
  completor.lsp_completions_asked = nil
  if asked and asked.id and asked.client.requests[asked.id] then
    asked.client:cancel_request(asked.id)
  end
end

function M.take(completor, it, part)
  if suggestion.take(it, part) then
    completor:abort()
    completor:request(2) -- the server has been told, and may have the next one ready
  else
    completor:show()
  end
end

--- Mend it, once. Returns this module; nothing where Neovim has no such module, or a different one.
function M.adopt()
  if Completor then
    return M
  end
  -- The first line loads it.
  local _ = vim.lsp.inline_completion
  local capability = vim.F.npcall(require, 'vim.lsp._capability')
  local class = vim.lsp.inline_completion and capability and (capability.all or {}).inline_completion
  local original = {}
  for _, name in ipairs({
    'request',
    'automatic_request',
    'show',
    'hide',
    'abort',
    'accept',
    'on_attach',
    'on_detach',
    'select',
    'get_item',
    'count_items',
    'reset_timer',
  }) do
    original[name] = class and class[name]
    if type(original[name]) ~= 'function' then
      return nil
    end
  end
  if type(class.active) ~= 'table' then
    return nil
  end
  Completor = class
  mend(original)
  return M
end

function M.current()
  local completor = active()
  local it = completor and behind(completor.current, completor.bufnr)
  return it and suggestion.rest(it) and it
end

function M.ask(by_hand, chosen)
  local completor = active()
  if completor and vim.api.nvim_get_mode().mode:match('^i') then
    completor:request(by_hand and 1 or 2, chosen)
  end
end

function M.select(count)
  vim.lsp.inline_completion.select({ count = count })
end

function M.count()
  local completor = active()
  return completor and completor:count_items() or 0
end

function M.dismiss()
  local completor = active()
  if completor then
    completor:abort()
  end
end

function M.accept(part)
  local completor, it = active(), M.current()
  if completor and it then
    M.take(completor, it, part)
  end
end

function M.enable(on)
  local group = vim.api.nvim_create_augroup('lsp_completions.builtin', { clear = true })
  vim.lsp.inline_completion.enable(on ~= false)
  if on == false then
    return
  end
  local function of_buffer(what)
    return function(event)
      local completor = Completor.active[event.buf]
      if completor then
        completor[what](completor)
      end
    end
  end
  local function on_event(event, what)
    vim.api.nvim_create_autocmd(event, { group = group, callback = of_buffer(what) })
  end
  -- A menu hides it, whatever Neovim itself does.
  on_event('CompleteChanged', 'show')
  on_event({ 'CompleteDone', 'TextChangedI' }, 'automatic_request')
end

return M
