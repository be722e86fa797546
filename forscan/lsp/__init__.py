"""The language server: diagnostics and code actions on what stands in the editor.

`document` knows texts and loops, `edits` positions, `actions` and `diagnostics` what an
editor shows, `server` and `commands` the protocol. The user's code runs for the command
`forscan.verify` only.
"""

INSTALL = "pip install 'forscan[lsp]'"
