/** Which Python runs the server: the one that is set, or the first on this machine that is new enough. */

import { execFile } from "node:child_process";
import { promises as fs } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { CannotStart } from "./errors";

const OLDEST = { major: 3, minor: 11 };
const PATIENCE = 10_000; // milliseconds; a cold start from a network drive takes some seconds

// The usual one first, since that is where people install what goes along.
const NAMES =
  process.platform === "win32"
    ? ["py", "python", "python3"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

// Where the Dock does not look, though shells do.
const BESIDE_PATH = process.platform === "darwin" ? ["/opt/homebrew/bin", "/usr/local/bin"] : [];

/** The interpreter's path. `chosen` is the setting; throws `CannotStart` with what to do. */
export async function findPython(chosen: string | null): Promise<string> {
  const candidates = chosen ? [await onPath(expanded(chosen))] : await allOnPath();
  const tooOld: string[] = [];
  for (const candidate of candidates) {
    const found = candidate && (await probe(candidate));
    if (found && isNewEnough(found)) {
      return found.executable;
    }
    if (found) {
      tooOld.push(`${candidate} is ${found.major}.${found.minor}`);
    }
  }
  const wanted = `Python ${OLDEST.major}.${OLDEST.minor} or later`;
  if (chosen) {
    const why = tooOld.length ? `is Python ${tooOld[0]?.split(" is ")[1]}` : "is no Python that starts";
    throw new CannotStart(
      `${chosen}, which the setting lspCompletions.interpreter names, ${why}. Name ${wanted}.`,
      "interpreter",
    );
  }
  const found = tooOld.length ? `only older ones (${tooOld.join(", ")})` : "none";
  throw new CannotStart(
    `Suggestions need ${wanted} on the machine that runs this window's extensions, which has ${found}. ` +
      "Install it, or name one in the setting lspCompletions.interpreter; nothing else is needed.",
    "interpreter",
  );
}

/** The file that a command's name stands for; `undefined` where there is none. */
export async function onPath(name: string): Promise<string | undefined> {
  if (path.isAbsolute(name)) {
    return name;
  }
  for await (const file of everywhere(name)) {
    return file;
  }
  return undefined;
}

/** `~` stands for the home folder. */
export function expanded(name: string): string {
  return name.startsWith("~/") || name.startsWith("~\\") ? path.join(os.homedir(), name.slice(2)) : name;
}

async function allOnPath(): Promise<string[]> {
  const found: string[] = [];
  for (const name of NAMES) {
    for await (const file of everywhere(name)) {
      found.push(file);
    }
  }
  return found;
}

/** What a name stands for, in the order of PATH. Never anything of the opened folder. */
async function* everywhere(name: string): AsyncGenerator<string> {
  const folders = (process.env["PATH"] ?? process.env["Path"] ?? "").split(path.delimiter);
  const endings = process.platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  for (const folder of new Set([...folders, ...BESIDE_PATH])) {
    for (const ending of path.isAbsolute(folder) ? endings : []) {
      const file = path.join(folder, name + ending);
      if (await isExecutable(file)) {
        yield file;
      }
    }
  }
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await fs.access(file, fs.constants.X_OK);
    return (await fs.stat(file)).isFile();
  } catch {
    return false;
  }
}

interface Found {
  major: number;
  minor: number;
  executable: string;
}

/** What an interpreter says of itself; `undefined` where it is none, such as a shim that leads nowhere. */
async function probe(file: string): Promise<Found | undefined> {
  const question = "import sys; print(*sys.version_info[:2]); print(sys.executable)";
  try {
    const { stdout } = await promisify(execFile)(file, ["-I", "-c", question], {
      cwd: os.homedir(),
      timeout: PATIENCE,
      windowsHide: true,
    });
    const [version = "", executable = ""] = stdout.split(/\r?\n/);
    const [major = Number.NaN, minor = Number.NaN] = version.split(" ").map(Number);
    return Number.isInteger(major) && Number.isInteger(minor)
      ? { major, minor, executable: executable || file }
      : undefined;
  } catch {
    return undefined;
  }
}

function isNewEnough({ major, minor }: Found): boolean {
  return major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor);
}
