/** Why nothing shows at the cursor. */

import * as vscode from "vscode";
import { isAbout, type Outcome, type ServerLog } from "./log";
import type { Server } from "./server";
import { shown } from "./state";

const PATIENCE = 500; // milliseconds; the log comes another way than the answer

/** A sentence for the place at the cursor. Asks the server for a suggestion there. */
export async function why(server: Server, log: ServerLog): Promise<string> {
  const editor = vscode.window.activeTextEditor;
  const { health } = server;
  if (health.kind !== "running" || health.status.kind === "Error") {
    return shown(health).why;
  }
  if (!editor) {
    return "No text is open.";
  }
  const { document } = editor;
  if (!["file", "untitled", "vscode-notebook-cell"].includes(document.uri.scheme)) {
    return "Suggestions come in files, new documents and cells of notebooks; this is none of them.";
  }
  const listening = new Listening(log, document);
  try {
    if ((await server.ask(document, editor.selection.active)) === 0) {
      const said = await listening.heard(PATIENCE);
      return said ?? "The server has nothing here, and says no more; its log may.";
    }
  } finally {
    listening.dispose();
  }
  if (!vscode.workspace.getConfiguration("editor", document).get<boolean>("inlineSuggest.enabled")) {
    return "There is a suggestion here, but the setting editor.inlineSuggest.enabled is off.";
  }
  return (
    "There is a suggestion here. It shows while you type, or with the command Trigger Inline Suggestion, " +
    "unless another extension's is shown in its place."
  );
}

/** What the log says of requests in a document, from now on. */
class Listening implements vscode.Disposable {
  private last: string | undefined;
  private wake: () => void = () => undefined;
  private readonly subscription: vscode.Disposable;

  constructor(log: ServerLog, document: vscode.TextDocument) {
    this.subscription = log.onOutcome((outcome: Outcome) => {
      if (isAbout(outcome, document) && outcome.said !== "suggested") {
        this.last = outcome.said;
        this.wake();
      }
    });
  }

  /** The last of it; waits a while where nothing was said yet. */
  async heard(patience: number): Promise<string | undefined> {
    if (this.last === undefined) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, patience);
      });
    }
    return this.last;
  }

  dispose(): void {
    this.subscription.dispose();
  }
}
