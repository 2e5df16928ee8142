import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** How a program or logrotate names the earlier generations of `app.log`. */
export const SCHEMES = [
  "numbers",
  "numbers before the extension",
  "numbers, compressed a round later",
  "numbers before the extension, compressed at once",
  "dates",
  "dates before the extension",
  "copied and truncated",
  "a link to the newest",
] as const;
export type Scheme = (typeof SCHEMES)[number];

/** A log that is rotated in one of the usual ways. */
export class RotatingLog {
  readonly folder: string;
  readonly path: string;
  readonly #scheme: Scheme;
  readonly #now: (() => number) | null;
  #generations = 0;

  /** @param now_s time of a change in seconds, where the resolution of the file system is too coarse */
  constructor(folder: string, scheme: Scheme, now_s: (() => number) | null = null) {
    this.#now = now_s;
    this.folder = folder;
    this.path = join(folder, "app.log");
    this.#scheme = scheme;
    if (scheme === "a link to the newest") this.#linkToNext();
  }

  write(text: string): void {
    appendFileSync(this.path, text);
    const now_s = this.#now?.();
    if (now_s !== undefined) utimesSync(this.path, now_s, now_s);
  }

  rotate(): void {
    if (!existsSync(this.path)) return;
    this.#generations += 1;
    const n = this.#generations;
    switch (this.#scheme) {
      case "numbers":
        return this.#shift((i) => `app.log.${i}`);
      case "numbers before the extension":
        return this.#shift((i) => `app.${i}.log`);
      case "numbers, compressed a round later":
        this.#shift((i) => (i === 1 ? "app.log.1" : `app.log.${i}.gz`));
        return;
      case "numbers before the extension, compressed at once":
        return this.#shift((i) => `app-${i}.log.gz`);
      case "dates":
        return renameSync(this.path, this.#at(`app.log-20260101-${n}`));
      case "dates before the extension":
        return renameSync(this.path, this.#at(`app-2026-01-01.${n}.log`));
      case "copied and truncated":
        this.#shift((i) => `app.log.${i}`, 2);
        copyFileSync(this.path, this.#at("app.log.1"));
        keepTime(this.path, this.#at("app.log.1"));
        return truncateSync(this.path);
      case "a link to the newest":
        return this.#linkToNext();
    }
  }

  /** Renames each generation to the name of the next older one, and compresses it if that says so. */
  #shift(nameOf: (number: number) => string, youngest = 1): void {
    for (let i = this.#generations; i >= youngest; i -= 1) {
      const from = i === 1 ? this.path : this.#at(nameOf(i - 1));
      const to = this.#at(nameOf(i));
      if (!to.endsWith(".gz") || from.endsWith(".gz")) renameSync(from, to);
      else {
        const plain = to.slice(0, -3);
        renameSync(from, plain);
        writeFileSync(to, gzipSync(readFileSync(plain)));
        keepTime(plain, to);
        rmSync(plain);
      }
    }
  }

  #linkToNext(): void {
    const name = `app-2026-01-01-${this.#generations + 1}.log`;
    writeFileSync(this.#at(name), "");
    symlinkSync(name, this.#at("next"));
    renameSync(this.#at("next"), this.path);
  }

  #at(name: string): string {
    return join(this.folder, name);
  }
}

/** Sets the time of a file to that of another, as gzip and logrotate do. */
function keepTime(from: string, to: string): void {
  const { atime, mtime } = statSync(from);
  utimesSync(to, atime, mtime);
}
