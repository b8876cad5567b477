/** Tells a menu that opens by itself, where ghost text is enough, from one asked for by hand. */

import * as vscode from "vscode";

// Milliseconds. VS Code opens its menu some ten after a key, or hundreds where the machine is busy;
// a hand that goes for Ctrl+Space takes longer.
const AT_ONCE = 1000;

export class LeavesMenuAlone implements vscode.Disposable {
  private last: { uri: string; at: number } | undefined;
  private readonly subscription = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (contentChanges.length) {
      this.last = { uri: document.uri.toString(), at: Date.now() };
    }
  });

  /** VS Code says of both that they were invoked, so the time since the last key has to tell. */
  isByItself(document: vscode.TextDocument, context: vscode.CompletionContext): boolean {
    return (
      context.triggerKind === vscode.CompletionTriggerKind.Invoke &&
      this.last?.uri === document.uri.toString() &&
      Date.now() - this.last.at < AT_ONCE
    );
  }

  dispose(): void {
    this.subscription.dispose();
  }
}
