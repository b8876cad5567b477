/** The server's own commands, run once: `check`, `models`. */

import { execFile, spawn } from "node:child_process";
import * as os from "node:os";
import * as vscode from "vscode";
import type { Account, Credential } from "./account";
import { environmentOf } from "./launch";
import type { Server } from "./server";

const PATIENCE = 60_000; // milliseconds; `check` is done within half a minute

export class Terminal implements vscode.Disposable {
  private channel: vscode.OutputChannel | undefined;

  constructor(
    private readonly server: Server,
    private readonly account: Account,
  ) {}

  /** Show what a command says, as it says it. */
  async show(args: string[]): Promise<void> {
    this.channel ??= vscode.window.createOutputChannel("LSP Completions: Check");
    const channel = this.channel;
    channel.clear();
    channel.show(true);
    const program = await this.server.program();
    const child = spawn(program.command, [...program.args, ...args], {
      cwd: folder(),
      env: await environmentOf(program, this.account),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PATIENCE,
      windowsHide: true,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => channel.append(chunk));
    }
    child.on("error", (error) => channel.appendLine(error.message));
  }

  /** What a command prints, read as JSON; with another account than the one that is stored, perhaps. */
  async json<T>(args: string[], credential?: Credential): Promise<T> {
    const program = await this.server.program();
    const stored = await environmentOf(program, this.account);
    const environment = credential ? await this.account.added(stored, credential) : stored;
    return await new Promise((resolve, reject) => {
      const options = { cwd: folder(), env: environment, timeout: PATIENCE, windowsHide: true };
      execFile(program.command, [...program.args, ...args], options, (error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout) as T);
        } catch {
          reject(new Error(stderr.trim().split("\n").pop() || error?.message || "The server said nothing."));
        }
      });
    });
  }

  dispose(): void {
    this.channel?.dispose();
  }
}

/** The folder of the document at hand, or the workspace's first, or the user's. */
function folder(): string {
  const document = vscode.window.activeTextEditor?.document;
  const around = document && vscode.workspace.getWorkspaceFolder(document.uri);
  const first = (around ?? vscode.workspace.workspaceFolders?.[0])?.uri;
  return first?.scheme === "file" ? first.fsPath : os.homedir();
}
