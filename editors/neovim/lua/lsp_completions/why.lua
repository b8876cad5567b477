-- Why there is a suggestion at the cursor, or none: in a window beside it.

local M = {}

local WIDTH = 78

local function shown(lines)
  local _, window = vim.lsp.util.open_floating_preview(lines, 'text', {
    focus_id = 'lsp_completions.why',
    max_width = math.min(WIDTH, vim.o.columns - 4),
    wrap = true,
  })
  vim.wo[window].linebreak = true
end

local function complain(sentence)
  vim.notify('lsp-completions: ' .. sentence, vim.log.levels.WARN)
end

--- Ask the server, and show what it says until the cursor moves.
function M.show()
  local server = require('lsp_completions.server')
  local client = server.client()
  if not client then
    return complain('the server is not attached to this buffer; see :checkhealth lsp_completions')
  end
  local at = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local call = {
    command = server.command_name(client, 'why'),
    arguments = { { uri = at.textDocument.uri, position = at.position } },
  }
  client:request('workspace/executeCommand', call, function(error, answer)
    if error or not answer then
      return complain(error and error.message or 'the server does not say why')
    end
    shown(vim.split(answer.text, '\n'))
  end, 0)
end

return M
