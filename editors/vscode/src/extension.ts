/** The extension: one language server for the window, how it is in the status bar, and commands. */

import * as vscode from "vscode";
import { Account } from "./account";
import { commands } from "./commands";
import { OWN_SETTINGS, SECTION } from "./launch";
import { ServerLog } from "./log";
import { PROXY_SETTINGS } from "./proxy";
import { Server } from "./server";
import { StatusBar } from "./status";
import { Terminal } from "./terminal";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = new ServerLog(vscode.window.createOutputChannel("LSP Completions", { log: true }));
  const account = new Account(context.secrets);
  server = new Server(context, account, log);
  const terminal = new Terminal(server, account);
  context.subscriptions.push(log, server, terminal, new StatusBar(server));
  for (const [name, run] of Object.entries(commands({ server, account, log, terminal }))) {
    context.subscriptions.push(vscode.commands.registerCommand(`${SECTION}.${name}`, run));
  }
  const ours = [...OWN_SETTINGS.map((name) => `${SECTION}.${name}`), ...PROXY_SETTINGS];
  context.subscriptions.push(
    vscode.window.onDidChangeActiveTextEditor(() => server?.looksAt()),
    vscode.window.onDidChangeWindowState(({ focused }) => focused && server?.looksAt()),
    account.onDidChange(() => void server?.restart()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (ours.some((name) => change.affectsConfiguration(name))) {
        void server?.restart();
      }
    }),
  );
  await server.restart();
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}
