/** The language server of this window: started, started again when it falls, stopped. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import * as os from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  type MessageType,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";
import type { Account } from "./account";
import { CannotStart } from "./errors";
import { chosenProgram, environmentOf, OWN_SETTINGS, type Program, SECTION } from "./launch";
import type { ServerLog } from "./log";
import { LeavesMenuAlone } from "./menu";
import { showCannotStart, showFallen, showMessage } from "./messages";
import type { Health, Standing, Switched } from "./state";
import type { Explanation } from "./why";

/** Where suggestions come. */
export const SCHEMES = ["file", "untitled", "vscode-notebook-cell"];

const MOST_FALLS = 4; // within
const FALLS_COUNT_FOR = 3 * 60 * 1000; // milliseconds

export interface SwitchScope {
  language?: string;
  workspace?: true;
}

export class Server implements vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<Health>();
  readonly onDidChange = this.changes.event;
  private current: Health = { kind: "starting" };
  private client: LanguageClient | undefined;
  private falls: number[] = [];
  private work: Promise<void> = Promise.resolve();
  private switched: Switched | undefined;
  private readonly menus = new LeavesMenuAlone();
  // The commands that the server offers become VS Code's own: another client in the same window,
  // such as a generic one for language servers, may offer those of the same names.
  private readonly suffix = `.${randomBytes(4).toString("hex")}`;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly account: Account,
    private readonly log: ServerLog,
  ) {}

  get health(): Health {
    return this.current;
  }

  /** The program and its environment, for a command of its own. Throws `CannotStart`. */
  async program(): Promise<Program> {
    return await chosenProgram(this.context.extensionPath);
  }

  /** Start it, or stop it and start it anew; one after the other. */
  restart(): Promise<void> {
    this.work = this.work.then(() => this.startAnew()).catch((error) => this.failed(error));
    return this.work;
  }

  stop(): Promise<void> {
    this.work = this.work.then(() => this.end());
    return this.work;
  }

  dispose(): void {
    this.menus.dispose();
    this.changes.dispose();
  }

  /** Switch suggestions; what is switched outlives a fall of the server, since it knows nothing of it. */
  async toggle(scope: SwitchScope): Promise<Switched> {
    return this.took(await this.command<Switched>("lspCompletions.toggle", scope));
  }

  /** Tell that the user looks at another document, or comes back to it. */
  looksAt(document = vscode.window.activeTextEditor?.document): void {
    const client = this.client;
    if (document && SCHEMES.includes(document.uri.scheme) && client?.isRunning()) {
      const uri = client.code2ProtocolConverter.asUri(document.uri);
      client.sendNotification("textDocument/didFocus", { textDocument: { uri } }).catch(() => undefined);
    }
  }

  /** Why there is a suggestion at a place, or none. */
  async why(document: vscode.TextDocument, position: vscode.Position): Promise<Explanation> {
    const uri = this.running().code2ProtocolConverter.asUri(document.uri);
    return await this.command<Explanation>("lspCompletions.why", {
      uri,
      position: { line: position.line, character: position.character },
    });
  }

  /** Ask for a suggestion as if by hand, and throw it away. */
  async ask(document: vscode.TextDocument, position: vscode.Position): Promise<void> {
    await this.running().sendRequest("textDocument/inlineCompletion", {
      textDocument: { uri: this.running().code2ProtocolConverter.asUri(document.uri) },
      position: { line: position.line, character: position.character },
      context: { triggerKind: 1 }, // invoked
    });
  }

  private async startAnew(): Promise<void> {
    await this.end();
    this.become({ kind: "starting" });
    this.falls = [];
    const program = await this.program();
    this.log.channel.info(`Starting ${[program.command, ...program.args].join(" ")}`);
    const client = new LanguageClient(
      SECTION,
      "LSP Completions",
      () => this.spawned(program),
      this.options(),
    );
    client.registerFeature(FOLLOWS_STATUS);
    client.onNotification("lspCompletions/status", (standing: Standing) => this.told(standing));
    client.onNotification(
      "window/showMessage",
      ({ type, message }: { type: MessageType; message: string }) => showMessage(type, message),
    );
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        // What it offers is not registered before that ends.
        client.start().then(() => this.isUp(), () => undefined);
      } else if (newState === State.Starting) {
        this.become({ kind: "starting" });
      }
    });
    this.client = client;
    await client.start();
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.log.channel.info(`The server did not take its leave: ${String(error)}`);
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: SCHEMES.map((scheme) => ({ scheme })),
      synchronize: { configurationSection: SECTION },
      initializationOptions: { commandSuffix: this.suffix },
      outputChannel: this.log.channel,
      // What a person has to know is told below. The client's own errors belong in the log: a key
      // pressed while the server leaves would be one.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      stdioOptions: {
        stdout: () => undefined,
        stderr: (input) => input.setEncoding("utf8").on("data", (chunk: string) => this.log.read(chunk)),
      },
      errorHandler: this.errors(),
      // Told below, with what to do.
      initializationFailedHandler: () => false,
      middleware: {
        provideCompletionItem: (document, position, context, token, next) =>
          this.menus.isByItself(document, context) ? undefined : next(document, position, context, token),
        workspace: {
          configuration: async (params, token, next) => {
            const answer = await next(params, token);
            return Array.isArray(answer) ? answer.map(forServer) : answer;
          },
        },
      },
    };
  }

  /** The server's process, once it runs. */
  private async spawned(program: Program): Promise<ChildProcess> {
    const child = spawn(program.command, program.args, {
      // Not the opened folder: nothing of it is run by mistake.
      cwd: os.homedir(),
      env: await environmentOf(program, this.account),
      stdio: "pipe",
      windowsHide: true,
    });
    await once(child, "spawn");
    return child;
  }

  private errors(): ErrorHandler {
    return {
      error: (_error, _message, count) => ({
        action: (count ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
        handled: true,
      }),
      closed: () => {
        const now = Date.now();
        this.falls = [...this.falls.filter((fall) => now - fall < FALLS_COUNT_FOR), now];
        if (this.falls.length <= MOST_FALLS) {
          return { action: CloseAction.Restart, handled: true, message: "The server ended; it starts again." };
        }
        const why = `The server ended ${this.falls.length} times within three minutes, so it stays away.`;
        this.become({ kind: "stopped", why });
        void showFallen(why);
        return { action: CloseAction.DoNotRestart, handled: true, message: why };
      },
    };
  }

  private failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.log.channel.error(why);
    if (this.current.kind === "stopped") {
      return; // told already
    }
    this.become({ kind: "stopped", why });
    void (error instanceof CannotStart ? showCannotStart(error) : showFallen(`The server did not start: ${why}`));
  }

  private async isUp(): Promise<void> {
    if (this.current.kind !== "running") {
      this.become({ kind: "running", switched: this.switched });
    }
    this.looksAt();
    const { everything, workspace, languages } = this.switched ?? {};
    const again: [boolean | undefined, SwitchScope][] = [
      [everything, {}],
      [workspace, { workspace: true }],
      ...Object.entries(languages ?? {}).map(([language, on]): [boolean, SwitchScope] => [on, { language }]),
    ];
    for (const [on, scope] of again) {
      if (on === false || (on && scope.language)) {
        await this.command(on ? "lspCompletions.enable" : "lspCompletions.disable", scope);
      }
    }
  }

  private took(switched: Switched): Switched {
    this.switched = switched;
    if (this.current.kind === "running") {
      this.become({ ...this.current, switched });
    }
    return switched;
  }

  private told(standing: Standing): void {
    this.become({ kind: "running", standing, switched: this.switched });
  }

  private become(health: Health): void {
    this.current = health;
    this.changes.fire(health);
  }

  private async command<T>(name: string, argument: object): Promise<T> {
    const parameters = { command: name + this.suffix, arguments: [argument] };
    return await this.running().sendRequest<T>("workspace/executeCommand", parameters);
  }

  private running(): LanguageClient {
    if (!this.client?.isRunning()) {
      throw new Error("The server of LSP Completions does not run; its log says why.");
    }
    return this.client;
  }
}

// Tells the server that the status bar wants to know how things are.
const FOLLOWS_STATUS: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { ...capabilities.experimental, lspCompletionsStatus: true };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

// Said once and for all when the server starts.
const NOT_FOR_SERVER = [...OWN_SETTINGS, "commandSuffix"];

/** The settings as the server is to have them: without the extension's own. */
function forServer(settings: unknown): unknown {
  if (typeof settings !== "object" || settings === null) {
    return settings;
  }
  const kept = Object.entries(settings).filter(([key]) => !NOT_FOR_SERVER.includes(key));
  const said: Record<string, unknown> = Object.fromEntries(kept);
  // A line for each request is what the log is there for.
  return { ...said, logLevel: said["logLevel"] ?? "info" };
}
