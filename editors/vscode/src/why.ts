/** Why nothing shows at the cursor. */

import * as vscode from "vscode";
import { SCHEMES, type Server } from "./server";
import { shown } from "./state";

/** The answer to the server's command `lspCompletions.why`. */
export interface Explanation {
  /** All of it, several lines. */
  text: string;
  sentence: string;
  /** For programs; `null` where nothing keeps a suggestion away. */
  reason: string | null;
  help: string | null;
  /** What came of the last request there. */
  entry: object | null;
}

export interface Why {
  sentence: string;
  /** More lines, with times, where there are any. */
  details?: string;
}

/** For the place at the cursor. Asks for a suggestion there if that was not done yet. */
export async function why(server: Server): Promise<Why> {
  const editor = vscode.window.activeTextEditor;
  const { health } = server;
  if (health.kind !== "running") {
    return { sentence: shown(health).why };
  }
  if (!editor) {
    return { sentence: "No text is open." };
  }
  const { document, selection } = editor;
  if (!SCHEMES.includes(document.uri.scheme)) {
    return { sentence: "Suggestions come in files, new documents and cells of notebooks; this is none of them." };
  }
  let told = await server.why(document, selection.active);
  if (!told.entry && !told.reason) {
    await server.ask(document, selection.active);
    told = await server.why(document, selection.active);
  }
  return { sentence: inOne(told, document), details: told.text };
}

function inOne(told: Explanation, document: vscode.TextDocument): string {
  if (told.reason) {
    return [told.sentence, told.help].filter(Boolean).join(" ");
  }
  return vscode.workspace.getConfiguration("editor", document).get<boolean>("inlineSuggest.enabled")
    ? `${told.sentence} It shows while you type, or with the command Trigger Inline Suggestion, ` +
        "unless another extension's is shown in its place."
    : `${told.sentence} But the setting editor.inlineSuggest.enabled is off.`;
}
