/** What keeps the server from starting, as a sentence for the user. */

/** `setting` is the one of the extension's settings that mends it. */
export class CannotStart extends Error {
  constructor(
    sentence: string,
    readonly setting: "importStrategy" | "interpreter" | "path",
  ) {
    super(sentence);
  }
}
