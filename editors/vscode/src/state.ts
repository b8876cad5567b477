/** How things are, and how that is shown. */

/** What the server tells of itself, by its notification `lspCompletions/status`. */
export interface Standing {
  state: "off" | "keptBack" | "error" | "warning" | "starting" | "busy" | "ready";
  /** For programs; empty where there is nothing to explain. */
  reason: string;
  /** The same for people. */
  message: string;
  provider: string;
  model: string;
}

/** What was switched in this window, as the server answers its commands. */
export interface Switched {
  enabled: boolean;
  everything: boolean;
  workspace: boolean;
  languages: Record<string, boolean>;
}

/** A server that runs may not have told yet how it is. */
export type Health =
  | { kind: "starting" }
  | { kind: "running"; standing?: Standing | undefined; switched?: Switched | undefined }
  | { kind: "stopped"; why: string };

export interface Shown {
  text: string;
  /** Why it is so; empty where all is well. */
  why: string;
  isWrong: boolean;
}

const NAME = "Suggestions";

export function shown(health: Health, languageId?: string): Shown {
  if (health.kind === "starting") {
    return { text: `$(loading~spin) ${NAME}`, why: "The server starts.", isWrong: false };
  }
  if (health.kind === "stopped") {
    return { text: `$(error) ${NAME}`, why: health.why, isWrong: true };
  }
  const { standing, switched } = health;
  const why = standing?.message ?? "";
  switch (standing?.state) {
    case "off":
      return { text: `$(circle-slash) ${NAME} off`, why: whatIsOff(standing, switched, languageId), isWrong: false };
    case "keptBack":
      return { text: `$(shield) ${NAME} off`, why, isWrong: false };
    case "error":
    case "warning":
      return { text: `$(warning) ${NAME}`, why, isWrong: standing.state === "error" };
    case "starting":
    case "busy":
      return { text: `$(loading~spin) ${NAME}`, why, isWrong: false };
    default:
      return { text: `$(sparkle) ${NAME}`, why, isWrong: false };
  }
}

function whatIsOff({ reason, message }: Standing, switched?: Switched, languageId?: string): string {
  if (reason !== "switchedOff") {
    return message;
  }
  if (switched?.everything === false) {
    return "Suggestions are switched off in this window.";
  }
  if (switched?.workspace === false) {
    return "Suggestions are switched off for this workspace, as long as this window is open.";
  }
  if (languageId && switched?.languages[languageId] === false) {
    return `Suggestions are switched off for ${languageId}, as long as this window is open.`;
  }
  return message;
}
