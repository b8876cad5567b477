/** The commands of the palette, by their names after the section. */

import * as vscode from "vscode";
import type { Account } from "./account";
import { SECTION } from "./launch";
import type { ServerLog } from "./log";
import { chooseModel } from "./models";
import type { Server, SwitchScope } from "./server";
import { signIn, signOut } from "./signIn";
import type { Terminal } from "./terminal";
import { why } from "./why";

interface Parts {
  server: Server;
  account: Account;
  log: ServerLog;
  terminal: Terminal;
}

type Command = (argument?: unknown) => Promise<void> | void;

export function commands({ server, account, log, terminal }: Parts): Record<string, Command> {
  const language = () => vscode.window.activeTextEditor?.document.languageId;

  const toggle = async (scope: SwitchScope): Promise<void> => {
    const { enabled } = await server.toggle(scope);
    const where = scope.language ? ` for ${scope.language}` : scope.workspace ? " for this workspace" : "";
    vscode.window.setStatusBarMessage(`Suggestions are ${enabled ? "on" : "off"}${where}`, 5000);
  };

  const all: Record<string, Command> = {
    signIn: () => signIn(account, terminal),
    signOut: () => signOut(account),
    check: () => terminal.show(["check", ...fileAtHand()]),
    toggle: (scope) => toggle(scopeOf(scope)),
    toggleLanguage: () => toggle(scopeOf({ language: language() })),
    toggleWorkspace: () => toggle({ workspace: true }),
    whyNothing: async () => {
      const { sentence, details } = await why(server);
      const buttons = details ? ["Details", "Check"] : ["Check", "Show Log"];
      const pressed = await vscode.window.showInformationMessage(sentence, ...buttons);
      if (pressed === "Details") {
        log.channel.info(`Why there is a suggestion or none:\n${details}`);
      }
      if (pressed) {
        await all[pressed === "Check" ? "check" : "showLog"]?.();
      }
    },
    showLog: () => log.channel.show(),
    chooseModel: () => chooseModel(terminal),
    restart: () => server.restart(),
    openExample,
    menu: async () => {
      const chosen = await vscode.window.showQuickPick(entries(language()), { title: "LSP Completions" });
      if (chosen) {
        await vscode.commands.executeCommand(`${SECTION}.${chosen.command}`);
      }
    },
  };
  return all;
}

function entries(language: string | undefined): (vscode.QuickPickItem & { command: string })[] {
  return [
    { label: "$(question) Why nothing here?", command: "whyNothing" },
    { label: "$(circle-slash) Suggestions on or off", command: "toggle" },
    ...(language
      ? [{ label: `$(circle-slash) Suggestions on or off for ${language}`, command: "toggleLanguage" }]
      : []),
    { label: "$(circle-slash) Suggestions on or off for this workspace", command: "toggleWorkspace" },
    { label: "$(account) Sign in to Sourcegraph", command: "signIn" },
    { label: "$(symbol-method) Choose the model", command: "chooseModel" },
    { label: "$(checklist) Check everything", command: "check" },
    { label: "$(output) Show the log", command: "showLog" },
    { label: "$(refresh) Restart the server", command: "restart" },
  ];
}

/** What a key binding may pass along. */
function scopeOf(argument: unknown): SwitchScope {
  const { language, workspace } = (argument ?? {}) as { language?: unknown; workspace?: unknown };
  return {
    ...(typeof language === "string" && language ? { language } : {}),
    ...(workspace === true ? { workspace } : {}),
  };
}

function fileAtHand(): string[] {
  const document = vscode.window.activeTextEditor?.document;
  return document?.uri.scheme === "file" ? [document.uri.fsPath] : [];
}

const EXAMPLE = `def average(numbers):
    """The arithmetic mean of some numbers."""
    `;

/** A place where any model has something to say. */
async function openExample(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "python", content: EXAMPLE });
  const end = document.lineAt(document.lineCount - 1).range.end;
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(end, end) });
  await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
}
