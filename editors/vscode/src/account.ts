/** The Sourcegraph account of this extension: an address and a token, kept where VS Code keeps secrets. */

import * as vscode from "vscode";

const KEY = "sourcegraph";

export interface Credential {
  endpoint: string;
  token: string;
}

export class Account {
  /** It changed, perhaps in another window. */
  readonly onDidChange: vscode.Event<void>;

  constructor(private readonly secrets: vscode.SecretStorage) {
    this.onDidChange = (listener, self, disposables) =>
      secrets.onDidChange(({ key }) => key === KEY && listener.call(self), undefined, disposables);
  }

  async read(): Promise<Credential | undefined> {
    const text = await this.secrets.get(KEY);
    try {
      return text ? (JSON.parse(text) as Credential) : undefined;
    } catch {
      return undefined;
    }
  }

  async store(credential: Credential): Promise<void> {
    await this.secrets.store(KEY, JSON.stringify(credential));
  }

  async forget(): Promise<void> {
    await this.secrets.delete(KEY);
  }

  /** An environment with it, which is how the server is told: nobody sees it in a list of processes. */
  async added(environment: NodeJS.ProcessEnv, credential?: Credential): Promise<NodeJS.ProcessEnv> {
    const { endpoint, token } = credential ?? (await this.read()) ?? {};
    if (!endpoint || !token) {
      return environment;
    }
    const others =
      environment["SRC_ENDPOINT"] === endpoint
        ? []
        : // Meant for another address.
          Object.keys(environment).filter((name) => /^SRC_HEADER/i.test(name));
    const kept = Object.fromEntries(Object.entries(environment).filter(([name]) => !others.includes(name)));
    return { ...kept, SRC_ENDPOINT: endpoint, SRC_ACCESS_TOKEN: token };
  }
}
