/** Signing in to a Sourcegraph instance, and out. */

import * as vscode from "vscode";
import type { Account, Credential } from "./account";
import { SECTION } from "./launch";
import type { Terminal } from "./terminal";

const TITLE = "Sign in to Sourcegraph";
const ON_THE_WAY = ["proxy", "connection", "certificate", "token"];

interface Checked {
  steps: { name: string; ok: boolean | null; sentence: string; remedy: string | null }[];
}

/** Ask for an address and a token, try them, store them. */
export async function signIn(account: Account, terminal: Terminal): Promise<void> {
  const known = (await account.read())?.endpoint ?? vscode.workspace.getConfiguration(SECTION).get<string>("endpoint");
  const address = await vscode.window.showInputBox({
    title: TITLE,
    prompt: "The address of your Sourcegraph instance",
    placeHolder: "https://sourcegraph.example.com",
    value: known ?? "",
    ignoreFocusOut: true,
    validateInput: (text) => (/\s|^sg[a-z]{1,4}_/.test(text.trim()) ? "This is no address." : undefined),
  });
  const endpoint = address?.trim().replace(/\/+$/, "");
  if (!endpoint) {
    return;
  }
  const token = await vscode.window.showInputBox({
    title: TITLE,
    prompt: `An access token; create one at ${endpoint}/user/settings/tokens/new`,
    password: true,
    ignoreFocusOut: true,
  });
  if (!token?.trim()) {
    return;
  }
  const credential = { endpoint, token: token.trim() };
  const wrong = await whatIsWrong(credential, terminal);
  if (wrong && (await vscode.window.showWarningMessage(wrong, "Sign In Anyway", "Try Again")) !== "Sign In Anyway") {
    return;
  }
  await account.store(credential);
  void vscode.window.showInformationMessage(`Signed in to ${endpoint}. Suggestions come while you type.`);
}

export async function signOut(account: Account): Promise<void> {
  const stored = await account.read();
  await account.forget();
  const said = stored
    ? `Signed out of ${stored.endpoint}. The token itself stays valid until you revoke it there.`
    : "This extension has no token. Others may be in the environment, in config.toml, or of `lsp-completions login`.";
  void vscode.window.showInformationMessage(said);
}

async function whatIsWrong(credential: Credential, terminal: Terminal): Promise<string | undefined> {
  try {
    const { steps } = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: `Asking ${credential.endpoint}…` },
      () => terminal.json<Checked>(["check", "--json"], credential),
    );
    const wrong = steps.find(({ name, ok }) => ok === false && ON_THE_WAY.includes(name));
    return wrong && `${wrong.sentence} ${wrong.remedy ?? ""}`.trim();
  } catch (error) {
    return `It could not be tried out: ${error instanceof Error ? error.message : String(error)}`;
  }
}
