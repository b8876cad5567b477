/** Which program the server is, and what it is told by its environment. */

import * as path from "node:path";
import * as vscode from "vscode";
import type { Account } from "./account";
import { CannotStart } from "./errors";
import { proxyVariables } from "./proxy";
import { expanded, findPython, onPath } from "./python";

export const SECTION = "lspCompletions";

/** The settings that are about the program itself, and nothing to the server. */
export const OWN_SETTINGS = ["importStrategy", "interpreter", "path"];

export interface Program {
  command: string;
  args: string[];
  /** Where Python finds the server; `undefined` where the program knows. */
  libraries?: string;
}

/** The program that the settings choose. Throws `CannotStart` where there is none. */
export async function chosenProgram(extensionPath: string): Promise<Program> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const [command, ...args] = settings.get<string[]>("path") ?? [];
  if (command) {
    const found = await onPath(expanded(command));
    if (!found) {
      throw new CannotStart(
        `There is no command ${command}, which the setting lspCompletions.path names.`,
        "path",
      );
    }
    return { command: found, args };
  }

  const interpreter = settings.get<string | null>("interpreter") || null;
  const asModule = ["-P", "-m", "lsp_completions"]; // -P: nothing of the folder it happens to run in
  if (settings.get<string>("importStrategy") !== "fromEnvironment") {
    const libraries = path.join(extensionPath, "bundled", "libs");
    return { command: await findPython(interpreter), args: asModule, libraries };
  }
  if (interpreter) {
    return { command: await findPython(interpreter), args: asModule };
  }
  const installed = await onPath("lsp-completions");
  if (!installed) {
    throw new CannotStart(
      "There is no command lsp-completions on PATH. Install it, or set " +
        "lspCompletions.importStrategy to useBundled for the one that came with the extension.",
      "importStrategy",
    );
  }
  return { command: installed, args: [] };
}

/** The environment of the program: this one's, the account's, and VS Code's proxy. */
export async function environmentOf(program: Program, account: Account): Promise<NodeJS.ProcessEnv> {
  const environment = { ...process.env, ...proxyVariables() };
  if (program.libraries) {
    // Another Python's modules would not fit.
    delete environment["PYTHONHOME"];
    environment["PYTHONPATH"] = program.libraries;
  }
  return account.added(environment);
}
