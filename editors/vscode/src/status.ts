/** The item in the status bar: whether suggestions come, and why not. */

import * as vscode from "vscode";
import { isAbout, type Outcome, type ServerLog } from "./log";
import type { Server } from "./server";
import { shown } from "./state";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("lspCompletions", vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];
  private last: Outcome | undefined;

  constructor(
    private readonly server: Server,
    log: ServerLog,
  ) {
    this.item.name = "LSP Completions";
    this.item.command = "lspCompletions.menu";
    this.subscriptions = [
      server.onDidChange(() => {
        this.last = undefined; // it was so before
        this.draw();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
      log.onOutcome((outcome) => {
        this.last = outcome;
        this.draw();
      }),
    ];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.item).dispose();
  }

  private draw(): void {
    const document = vscode.window.activeTextEditor?.document;
    const last = document && this.last && isAbout(this.last, document) ? this.last.said : undefined;
    const { text, why, isWrong } = shown(this.server.health, document?.languageId, last);
    this.item.text = text;
    this.item.tooltip = `LSP Completions\n${why || "Suggestions come while you type."}`;
    this.item.accessibilityInformation = { label: `LSP Completions: ${why || "suggestions come"}`, role: "button" };
    this.item.backgroundColor = isWrong
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
  }
}
