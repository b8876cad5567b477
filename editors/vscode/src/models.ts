/** Choosing the model among those of whoever answers. */

import * as vscode from "vscode";
import { SECTION } from "./launch";
import type { Terminal } from "./terminal";

interface Listed {
  provider?: string;
  models?: {
    name: string;
    title: string | null;
    kind: string | null;
    inUse: boolean;
    whyNot: string | null;
  }[];
  message?: string;
}

export async function chooseModel(terminal: Terminal): Promise<void> {
  const { provider, models, message } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Asking which models there are" },
    () => terminal.json<Listed>(["models", "--json"]),
  );
  if (!models) {
    void vscode.window.showWarningMessage(message ?? "Nobody said which models there are.");
    return;
  }
  const chosen = await vscode.window.showQuickPick(
    [
      { label: "The server's own choice", model: null, description: "" },
      ...models.map(({ name, title, kind, inUse, whyNot }) => ({
        label: `${inUse ? "$(check) " : ""}${name}`,
        description: [title === name ? null : title, kind, whyNot && `but ${whyNot}`].filter(Boolean).join(", "),
        model: name,
      })),
    ],
    { title: `Models of ${provider ?? "the provider"}`, matchOnDescription: true },
  );
  if (chosen) {
    const settings = vscode.workspace.getConfiguration(SECTION);
    await settings.update("model", chosen.model ?? undefined, vscode.ConfigurationTarget.Global);
  }
}
