/** The item in the status bar: whether suggestions come, and why not. */

import * as vscode from "vscode";
import type { Server } from "./server";
import { shown } from "./state";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("lspCompletions", vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.item.name = "LSP Completions";
    this.item.command = "lspCompletions.menu";
    this.subscriptions = [
      server.onDidChange(() => this.draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
    ];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.item).dispose();
  }

  private draw(): void {
    const { health } = this.server;
    const { text, why, isWrong } = shown(health, vscode.window.activeTextEditor?.document.languageId);
    const { provider, model } = (health.kind === "running" && health.standing) || {};
    const from = [provider, model].filter(Boolean).join(", ");
    this.item.text = text;
    this.item.tooltip = ["LSP Completions", why || "Suggestions come while you type.", from && `From ${from}.`]
      .filter(Boolean)
      .join("\n");
    this.item.accessibilityInformation = { label: `LSP Completions: ${why || "suggestions come"}`, role: "button" };
    this.item.backgroundColor = isWrong
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
  }
}
