/** What the server writes to standard error, line by line in the log. */

import type * as vscode from "vscode";

export class ServerLog implements vscode.Disposable {
  private rest = "";

  constructor(readonly channel: vscode.LogOutputChannel) {}

  read(chunk: string): void {
    const lines = (this.rest + chunk).split(/\r?\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      this.line(line);
    }
  }

  dispose(): void {
    this.channel.dispose();
  }

  private line(line: string): void {
    const [, level = "", text = line] = /^(DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)$/.exec(line) ?? [];
    switch (level) {
      case "DEBUG":
        this.channel.debug(text);
        break;
      case "WARNING":
        this.channel.warn(text);
        break;
      case "ERROR":
      case "CRITICAL":
        this.channel.error(text);
        break;
      default:
        this.channel.info(text);
    }
  }
}
