/** What is told in a message, with buttons for what can be done about it. */

import * as vscode from "vscode";
import { MessageType } from "vscode-languageclient/node";
import type { CannotStart } from "./errors";

const SIGN_IN = "Sign In";
const CHECK = "Check";
const LOG = "Show Log";
const RESTART = "Try Again";
const SETTING = "Open Setting";

const DO: Record<string, () => Thenable<unknown>> = {
  [SIGN_IN]: () => vscode.commands.executeCommand("lspCompletions.signIn"),
  [CHECK]: () => vscode.commands.executeCommand("lspCompletions.check"),
  [LOG]: () => vscode.commands.executeCommand("lspCompletions.showLog"),
  [RESTART]: () => vscode.commands.executeCommand("lspCompletions.restart"),
};

/** A message of the server. */
export async function showMessage(type: MessageType, message: string): Promise<void> {
  if (type === MessageType.Error || type === MessageType.Warning) {
    const buttons = /lsp-completions login|accessToken|SRC_ACCESS_TOKEN/.test(message) ? [SIGN_IN, CHECK] : [CHECK, LOG];
    await run(vscode.window.showWarningMessage(message, ...buttons));
  } else {
    await vscode.window.showInformationMessage(message);
  }
}

/** The server is gone for good. */
export async function showFallen(why: string): Promise<void> {
  await run(vscode.window.showErrorMessage(`LSP Completions: ${why}`, RESTART, LOG));
}

/** The server cannot even be started. */
export async function showCannotStart(error: CannotStart): Promise<void> {
  const message = `LSP Completions: ${error.message}`;
  const pressed = await vscode.window.showErrorMessage(message, SETTING, RESTART);
  if (pressed === SETTING) {
    const query = `@id:lspCompletions.${error.setting}`;
    await vscode.commands.executeCommand("workbench.action.openSettings", query);
  } else if (pressed) {
    await DO[pressed]?.();
  }
}

async function run(asked: Thenable<string | undefined>): Promise<void> {
  const pressed = await asked;
  if (pressed) {
    await DO[pressed]?.();
  }
}
