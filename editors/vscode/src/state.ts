/** How things are, and how that is shown. */

/** What the server tells of itself, in the words of its notification `didChangeStatus`. */
export interface Status {
  kind: "Normal" | "Warning" | "Error" | "Inactive";
  message: string;
}

/** What was switched in this window, as the server answers its commands. */
export interface Switched {
  enabled: boolean;
  everything: boolean;
  workspace: boolean;
  languages: Record<string, boolean>;
}

export type Health =
  | { kind: "starting" }
  | { kind: "running"; status: Status; switched?: Switched | undefined }
  | { kind: "stopped"; why: string };

export interface Shown {
  text: string;
  /** Why it is so; empty where all is well. */
  why: string;
  isWrong: boolean;
}

/** `last` is what came of the last request in the document at hand, where one was made. */
export function shown(health: Health, languageId?: string, last?: string): Shown {
  const name = "Suggestions";
  if (health.kind === "starting") {
    return { text: `$(loading~spin) ${name}`, why: "The server starts.", isWrong: false };
  }
  if (health.kind === "stopped") {
    return { text: `$(error) ${name}`, why: health.why, isWrong: true };
  }
  const { status, switched } = health;
  if (status.kind === "Error" || status.kind === "Warning") {
    return { text: `$(warning) ${name}`, why: status.message, isWrong: status.kind === "Error" };
  }
  const off = whatIsOff(status, switched, languageId);
  if (off) {
    return { text: `$(circle-slash) ${name} off`, why: off, isWrong: false };
  }
  if (last && last !== "suggested") {
    return { text: `$(sparkle) ${name}`, why: `Nothing at the last place: ${last}`, isWrong: false };
  }
  return { text: `$(sparkle) ${name}`, why: "", isWrong: false };
}

function whatIsOff(status: Status, switched?: Switched, languageId?: string): string | undefined {
  if (status.kind === "Inactive" || switched?.everything === false) {
    return "Suggestions are switched off in this window.";
  }
  if (switched?.workspace === false) {
    return "Suggestions are switched off for this workspace, as long as this window is open.";
  }
  if (languageId && switched?.languages[languageId] === false) {
    return `Suggestions are switched off for ${languageId}, as long as this window is open.`;
  }
  return undefined;
}
