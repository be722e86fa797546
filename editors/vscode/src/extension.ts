// A thin client: it starts `forscan lsp`, and gives the palette what the server can do.

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const commands: Record<string, () => Promise<void>> = {
    "forscan.toScan": () => convert("scan"),
    "forscan.toFori": () => convert("fori"),
    "forscan.toFor": () => convert("for"),
    "forscan.verifyLoop": verify,
    "forscan.restart": restart,
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("forscan.interpreter")) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

async function start(): Promise<void> {
  const python = interpreter();
  const [command, args] = python ? [python, ["-P", "-m", "forscan", "lsp"]] : ["forscan", ["lsp"]];
  client = new LanguageClient(
    "forscan",
    "forscan",
    { command, args },
    {
      documentSelector: ["file", "untitled"].map((scheme) => ({ scheme, language: "python" })),
      initializationOptions: python ? { python } : {},
    },
  );
  try {
    await client.start();
  } catch (error) {
    const hint = "pip install 'forscan[lsp]', and set forscan.interpreter";
    void vscode.window.showErrorMessage(`forscan does not start (${String(error)}): ${hint}`);
  }
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

/** The setting, with the folder of the project put in. */
function interpreter(): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const given = vscode.workspace.getConfiguration("forscan").get<string>("interpreter") ?? "";
  return given.replace("${workspaceFolder}", folder);
}

async function convert(to: string): Promise<void> {
  const place = cursor();
  if (place) {
    await ask("forscan.convert", [...place, to]);
  }
}

/** Runs the user's code, so the call is asked for. */
async function verify(): Promise<void> {
  const place = cursor();
  const call = place && (await vscode.window.showInputBox({ prompt: "A call of the function", placeHolder: "f(jnp.ones(3), 5)" }));
  if (place && call) {
    const to = vscode.workspace.getConfiguration("forscan").get<string>("verifyTo") ?? "scan";
    await ask("forscan.verify", [...place, to, call]);
  }
}

/** The document and the line of the cursor. */
function cursor(): [string, number] | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && [editor.document.uri.toString(), editor.selection.active.line];
}

async function ask(command: string, args: unknown[]): Promise<void> {
  await client?.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
}
