// The bundle as it is packaged, with a stub of the editor and the real server.
// FORSCAN_PYTHON names the interpreter that has forscan[lsp].

const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const Module = require("node:module");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { vscode, state, happens, Uri, Position, Range } = require("./vscode.js");

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require("../dist/extension.js");
const manifest = require("../package.json");

const TEXT = `import jax


@jax.jit
def decay(x, ws):
    for i in range(4):
        x = 0.5 * x + ws[i]
    return x
`;

const uri = Uri.file(path.join(__dirname, "unsaved.py"));
const document = {
  uri,
  fileName: uri.fsPath,
  languageId: "python",
  version: 1,
  isClosed: false,
  isDirty: true,
  lineCount: TEXT.split("\n").length,
  getText: () => TEXT,
};
const context = { subscriptions: [] };

async function until(what, condition) {
  for (let i = 0; i < 600; i++) {
    const found = condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no ${what}`);
}

const python = process.env.FORSCAN_PYTHON ?? "python3";
const asked = spawnSync(python, ["-P", "-c", "import forscan.lsp.server"], { encoding: "utf8" });
if (asked.status !== 0) {
  const said = asked.error ? asked.error.message : asked.stderr.trim().split("\n").at(-1);
  console.error(`These tests need an interpreter with forscan[lsp], and ${python} is none: ${said}
Install it, as by: python3 -m venv .venv && .venv/bin/pip install '../..[lsp]'
and name it: FORSCAN_PYTHON=.venv/bin/python npm test`);
  process.exit(1);
}

before(async () => {
  state.settings.interpreter = python;
  vscode.workspace.textDocuments.push(document);
  vscode.window.activeTextEditor = { document, selection: { active: new Position(6, 0) } };
  await extension.activate(context);
});

after(() => extension.deactivate());

test("every command of the manifest is there", () => {
  for (const { command } of manifest.contributes.commands) {
    assert.ok(state.commands.has(command), command);
  }
});

test("diagnostics of an unsaved text arrive", async () => {
  const [hint] = await until("diagnostics", () => state.diagnostics.get(String(uri)));
  assert.match(hint.message, /can become `lax\.scan`/);
  assert.equal(hint.range.start.line, 5);
});

test("actions are offered and resolved", async () => {
  const [provider] = await until("provider", () => state.providers.length && state.providers);
  const place = new Range(6, 0, 6, 0);
  const token = new vscode.CancellationTokenSource().token;
  const found = await provider.provideCodeActions(document, place, { diagnostics: [], triggerKind: 1 }, token);
  const action = found.find((a) => a.title === "Convert to jax.lax.scan");
  assert.equal(action.kind.value, "refactor.rewrite");
  const resolved = await provider.resolveCodeAction(action, token);
  const [[where, edits]] = resolved.edit.edits;
  assert.equal(String(where), String(uri));
  assert.ok(edits.some((e) => (e.newText ?? e[0].newText).includes("jax.lax.scan(")));
});

test("a command of the palette edits the text", async () => {
  await vscode.commands.executeCommand("forscan.toScan");
  const edit = await until("edit", () => state.applied[0]);
  assert.ok(JSON.stringify(edit).includes("jax.lax.scan("));
});

test("a loop that cannot be converted is told", async () => {
  vscode.window.activeTextEditor.selection.active = new Position(0, 0);
  await vscode.commands.executeCommand("forscan.toFori");
  await until("message", () => state.shown.some((text) => text.includes("there is no loop here")));
});

test("nothing is verified without a call", async () => {
  const said = state.shown.length;
  await vscode.commands.executeCommand("forscan.verifyLoop");
  assert.equal(state.shown.length, said);
});

test("a server that does not start is told, with what to install", async () => {
  state.settings.interpreter = path.join(__dirname, "missing");
  await happens("onDidChangeConfiguration", { affectsConfiguration: () => true });
  await until("message", () => state.shown.some((text) => text.includes("pip install 'forscan[lsp]'")));
});
