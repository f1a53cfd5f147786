/**
 * A small file whose text may change while the process runs: a secret, a certificate. Users read the text here each time, and
 * get the current one.
 *
 *   read -> (used: checked again after CHECK_AGAIN_MS; reread if it changed) ...
 *
 * While it is missing or empty, as during a replacement, the last text stays in force, and one warning is given.
 */
import { readFileSync, statSync } from 'node:fs';

/** The text is used often: by each call and each log line. */
const CHECK_AGAIN_MS = 1_000;

export class WatchedFile {
  readonly #path: string;
  #text: string;
  #version: string;
  #checkedMs = performance.now();
  #isWarned = false;

  /** @throws the file system's error if it cannot be read */
  constructor(path: string) {
    this.#path = path;
    this.#version = versionOf(path);
    this.#text = readFileSync(path, 'utf8');
  }

  /** Never throws. */
  text(): string {
    const nowMs = performance.now();
    if (nowMs - this.#checkedMs < CHECK_AGAIN_MS) return this.#text;
    this.#checkedMs = nowMs;
    try {
      const version = versionOf(this.#path);
      if (version === this.#version) return this.#text;
      const text = readFileSync(this.#path, 'utf8');
      if (text.trim() === '') throw new Error('it is empty');
      this.#text = text;
      this.#version = version;
      this.#isWarned = false;
    } catch (error) {
      this.#warn(error);
    }
    return this.#text;
  }

  #warn(error: unknown): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    const reason = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
    process.emitWarning(`${this.#path} cannot be reread (${reason}): its previous content stays in use`);
  }
}

/** Follows links, so that it notices when the target folder is replaced. */
function versionOf(path: string): string {
  const { ino, mtimeMs, size } = statSync(path);
  return `${ino} ${mtimeMs} ${size}`;
}
