/** What the server writes to standard error: into the log, and the outcome of each request. */

import * as vscode from "vscode";

/** What came of a request for ghost text. */
export interface Outcome {
  /** The document, as the server calls it. */
  path: string;
  /** "suggested", or a sentence why not. */
  said: string;
}

// `inline src/app.py: The model had nothing to add. (12 ms)`
const OUTCOME = /^inline (.*?): (.*) \(\d+ ms\)$/;

export class ServerLog implements vscode.Disposable {
  private readonly outcomes = new vscode.EventEmitter<Outcome>();
  readonly onOutcome = this.outcomes.event;
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
    this.outcomes.dispose();
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
    const [, path, said] = OUTCOME.exec(text) ?? [];
    if (path && said) {
      this.outcomes.fire({ path, said });
    }
  }
}

/** Whether the server's name for a document may be that of this one. */
export function isAbout(outcome: Outcome, document: vscode.TextDocument): boolean {
  const relative = vscode.workspace.asRelativePath(document.uri, false);
  const name = document.uri.path.split("/").pop();
  return outcome.path === relative || outcome.path === name;
}
