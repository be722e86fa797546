-- Opens a file, takes an action at a line as a person does, and writes the buffer away.
local file, line, title, out = unpack(vim.split(vim.env.FORSCAN_DRIVE, "|", { plain = true }))

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    io.stderr:write("no " .. what .. "\n")
    vim.cmd("cquit 3")
  end
end

vim.ui.select = function(items, options, chosen)
  for _, item in ipairs(items) do
    if options.format_item(item) == title then
      return chosen(item)
    end
  end
  io.stderr:write("no action " .. title .. "\n")
  vim.cmd("cquit 4")
end

vim.cmd("edit " .. file)
wait("diagnostics", function()
  return #vim.diagnostic.get(0) > 0
end)
vim.api.nvim_win_set_cursor(0, { tonumber(line), 8 })
local before = vim.api.nvim_buf_get_changedtick(0)
vim.lsp.buf.code_action()
wait("change", function()
  return vim.api.nvim_buf_get_changedtick(0) ~= before
end)
vim.fn.writefile(vim.api.nvim_buf_get_lines(0, 0, -1, false), out)
vim.cmd("qall!")
