// A stub of the editor: what the bundle touches when it starts a server and asks for actions.
// Everything else is a class that can be extended and a function that gives something to dispose.

const { EventEmitter } = require("node:events");
const { pathToFileURL, fileURLToPath } = require("node:url");

const events = new EventEmitter();
const disposable = { dispose() {} };

class Disposable {
  constructor(call = () => {}) {
    this.dispose = call;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end, endLine, endCharacter) {
    const flat = typeof start === "number";
    this.start = flat ? new Position(start, end) : start;
    this.end = flat ? new Position(endLine, endCharacter) : end;
  }
}

class Uri {
  constructor(text) {
    this.text = text;
    this.scheme = text.split(":")[0];
    this.fsPath = this.scheme === "file" ? fileURLToPath(text) : text;
    this.path = this.fsPath;
  }
  toString() {
    return this.text;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(pathToFileURL(path).href);
  }
}

class CodeActionKind {
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}
CodeActionKind.Empty = new CodeActionKind("");

class Event {
  constructor() {
    const name = Symbol("event");
    this.event = on(name);
    this.fire = (value) => events.emit(name, value);
  }
  dispose() {}
}

function on(name) {
  return (call, self) => {
    const bound = call.bind(self);
    events.on(name, bound);
    return { dispose: () => events.off(name, bound) };
  };
}

class WorkspaceEdit {
  constructor() {
    this.edits = [];
  }
  set(uri, edits) {
    this.edits.push([uri, edits]);
  }
}

class TextEdit {
  constructor(range, newText) {
    Object.assign(this, { range, newText });
  }
}

class Plain {
  constructor(...given) {
    Object.assign(this, typeof given[0] === "object" ? given[0] : {});
  }
}

class Diagnostic extends Plain {
  constructor(range, message, severity) {
    super();
    Object.assign(this, { range, message, severity });
  }
}

class CodeAction extends Plain {
  constructor(title, kind) {
    super();
    Object.assign(this, { title, kind });
  }
}

class CancellationTokenSource {
  constructor() {
    this.token = { isCancellationRequested: false, onCancellationRequested: on("cancel") };
  }
  cancel() {}
  dispose() {}
}

/** An object whose unknown members are functions that give a disposable. */
function lenient(known) {
  return new Proxy(known, {
    get: (target, name) =>
      name in target ? target[name] : String(name).startsWith("on") ? on(String(name)) : () => disposable,
  });
}

const state = { settings: {}, commands: new Map(), providers: [], shown: [], applied: [], diagnostics: new Map(), answers: [] };

const workspace = lenient({
  textDocuments: [],
  notebookDocuments: [],
  workspaceFolders: undefined,
  isTrusted: true,
  fs: {},
  getConfiguration: () => ({ get: (key, otherwise) => state.settings[key] ?? otherwise, inspect: () => undefined }),
  getWorkspaceFolder: () => undefined,
  asRelativePath: (path) => String(path),
  applyEdit: async (edit) => {
    state.applied.push(edit);
    return true;
  },
});

const window = lenient({
  activeTextEditor: undefined,
  visibleTextEditors: [],
  tabGroups: lenient({ all: [] }),
  createOutputChannel: () => lenient({ name: "forscan", logLevel: 0 }),
  showInputBox: async () => state.answers.shift(),
  showErrorMessage: async (text) => void state.shown.push(text),
  showWarningMessage: async (text) => void state.shown.push(text),
  showInformationMessage: async (text) => void state.shown.push(text),
});

const languages = lenient({
  match: (selector, document) => (document.languageId === "python" ? 10 : 0),
  createDiagnosticCollection: () => ({
    set: (uri, found) => {
      if (uri !== undefined && found !== undefined) state.diagnostics.set(String(uri), found);
    },
    delete: (uri) => state.diagnostics.delete(String(uri)),
    clear: () => state.diagnostics.clear(),
    dispose() {},
  }),
  registerCodeActionsProvider: (_, provider) => {
    state.providers.push(provider);
    return disposable;
  },
});

const commands = lenient({
  registerCommand: (name, call) => {
    state.commands.set(name, call);
    return { dispose: () => state.commands.delete(name) };
  },
  executeCommand: async (name, ...given) => state.commands.get(name)?.(...given),
});

const classes = { Disposable, Position, Range, Uri, CodeActionKind, WorkspaceEdit, TextEdit, Diagnostic, CodeAction, CancellationTokenSource };
const known = {
  ...classes,
  EventEmitter: Event,
  workspace,
  window,
  languages,
  commands,
  env: lenient({ appName: "stub", language: "en", machineId: "stub" }),
  extensions: lenient({ all: [] }),
  l10n: { t: (text) => text },
  version: "1.91.0",
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
  LogLevel: { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 },
  UIKind: { Desktop: 1, Web: 2 },
  TextDocumentSaveReason: { Manual: 1, AfterDelay: 2, FocusOut: 3 },
  TextDocumentChangeReason: { Undo: 1, Redo: 2 },
};

const vscode = new Proxy(known, { get: (target, name) => (name in target ? target[name] : Plain) });

/** Tells the bundle of something that happened in the editor. */
function happens(name, value) {
  events.emit(name, value);
}

module.exports = { vscode, state, happens, Uri, Position, Range };
