import { createHash, randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { judgeAnswer, readAnswer } from "./answer.mjs";

const BATCH_LINES = 1000;
const BATCH_BYTES = 1_000_000;
const INTERVAL_MS = 200;
const MAX_BYTES = 64 * 1024 * 1024;
const EXIT_MS = 5000;
const REPLY_MS = 30_000;
const FIRST_PAUSE_MS = 200;
const LAST_PAUSE_MS = 10_000;
/** Refusals that an operator can end: of the API key, and of the address. */
const CURABLE = new Set([401, 403, 404]);
/** Tolerance between two readings of a process's start time. */
const START_JITTER_MS = 5000;

/**
 * @typedef {{ readonly path: string, readonly key: string, size: number, lines: number,
 *   isSent: boolean }} Batch
 */

/**
 * Queue of lines for the service. Lines are written to files before they are sent. Each file is one
 * request with an idempotency key, and is removed once the service has stored it. Files that a
 * process leaves behind, however it ended, are sent by the next process of the same log.
 */
export class Outbox {
  #options;
  #root;
  #folder;
  /** @type {Batch[]} */
  #batches = [];
  /** @type {string[]} */
  #lines = [];
  #size = 0;
  #stored = 0;
  #count = 0;
  #dropped = 0;
  #hasWarned = false;
  #failure = "the exit timeout passed";
  #isEnding = false;
  #closing = new AbortController();
  #writeSoon = null;
  #timer = null;
  /** @type {Promise<void> | null} */
  #sending = null;

  /** @param {import("./pino.d.mts").LoggiaOptions} options */
  static async open(options) {
    for (const name of ["url", "log", "key"]) {
      if (typeof options?.[name] !== "string" || options[name] === "")
        throw new Error(`The transport loggia/pino needs the option ${name}, a string that is not empty`);
    }
    const outbox = new Outbox(options);
    await outbox.#adopt();
    return outbox;
  }

  constructor(options) {
    this.#options = options;
    const home = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
    const name = createHash("sha256").update(`${options.url}\n${options.log}`).digest("hex").slice(0, 16);
    this.#root = options.folder ?? join(home, "loggia", "pino", name);
    this.#folder = join(this.#root, `${process.pid}-${startedAt()}-${randomUUID().slice(0, 8)}`);
  }

  /**
   * Adds a line. It is in a file by the end of this turn of the event loop: pino stops the worker
   * of an unreferenced transport, which loses what is in memory. See decision 79.
   */
  add(line) {
    this.#lines.push(line);
    this.#size += line.length + 1;
    if (this.#lines.length >= BATCH_LINES || this.#size >= BATCH_BYTES) this.#write();
    else this.#writeSoon ??= setImmediate(() => this.#write());
    this.#timer ??= setTimeout(() => this.#endInterval(), this.#options.interval ?? INTERVAL_MS);
  }

  /** Writes the queue and sends it until the exit timeout. The next process sends the rest. */
  async close() {
    this.#isEnding = true;
    this.#write();
    this.#endInterval();
    const limit = this.#options.exitTimeout ?? EXIT_MS;
    await Promise.race([this.#idle(), delay(limit, undefined, { ref: false })]);
    this.#closing.abort();
    await this.#idle();
    await rmdir(this.#folder).catch(() => {});
    const left = this.#batches.reduce((sum, { lines }) => sum + lines, 0);
    if (left > 0) this.#warn(`${left} lines stay in ${this.#root}, and the next process sends them: ${this.#failure}`);
  }

  async #idle() {
    while (this.#sending !== null) await this.#sending;
  }

  /** Writes with blocking calls, because the worker may be stopped between asynchronous ones. */
  #write() {
    clearImmediate(this.#writeSoon);
    this.#writeSoon = null;
    const lines = this.#lines;
    this.#lines = [];
    this.#size = 0;
    if (lines.length === 0) return;
    try {
      this.#append(lines);
    } catch (error) {
      this.#warn(`${lines.length} lines are lost, as they could not be written to ${this.#folder}: ${error.message}`);
    }
    if (this.#hasDue()) this.#start();
  }

  /** Appends lines to the last file if it is unsent and has room, otherwise to a new file. */
  #append(lines) {
    const text = Buffer.from(`${lines.join("\n")}\n`);
    let last = this.#batches.at(-1);
    if (last === undefined || last.isSent || last.size + text.length > Math.min(BATCH_BYTES, this.#maxBytes() / 4)) {
      const key = randomUUID();
      const path = this.#pathOf(key);
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      last = { path, key, size: 0, lines: 0, isSent: false };
      this.#batches.push(last);
    }
    appendFileSync(last.path, text, { mode: 0o600 });
    last.size += text.length;
    last.lines += lines.length;
    this.#stored += text.length;
    this.#makeRoom();
  }

  /** Returns whether a file is ready to send. The last file takes lines until its interval ends. */
  #hasDue() {
    return this.#batches.length > (this.#timer === null ? 0 : 1);
  }

  #endInterval() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#hasDue()) this.#start();
  }

  #start() {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
      // Lines may have been added while it ended.
      if (this.#hasDue() && !this.#closing.signal.aborted) this.#start();
    });
  }

  #maxBytes() {
    return this.#options.maxBytes ?? MAX_BYTES;
  }

  /** Drops the oldest files above the size limit, but neither the one being sent nor the newest. */
  #makeRoom() {
    while (this.#stored > this.#maxBytes()) {
      const index = this.#batches[0].isSent ? 1 : 0;
      if (index >= this.#batches.length - 1) return;
      const [oldest] = this.#batches.splice(index, 1);
      this.#dropped += oldest.lines;
      this.#stored -= oldest.size;
      rmSync(oldest.path, { force: true });
    }
  }

  async #sendAll() {
    let pause = FIRST_PAUSE_MS;
    while (this.#hasDue() && !this.#closing.signal.aborted) {
      const [batch] = this.#batches;
      // No lines are added from here on.
      batch.isSent = true;
      const { isSettled, isTooLarge = false, why, wait = 0 } = await this.#send(batch);
      if (isSettled) {
        if (isTooLarge && batch.lines > 1) await this.#halve(batch);
        else if (why !== undefined) this.#warn(`The service refused ${batch.lines} lines: ${why}`);
        this.#batches.splice(this.#batches.indexOf(batch), 1);
        this.#stored -= batch.size;
        await rm(batch.path, { force: true });
        pause = FIRST_PAUSE_MS;
        this.#hasWarned = false;
        this.#reportDropped();
        continue;
      }
      if (!this.#closing.signal.aborted) this.#failure = why;
      if (!this.#hasWarned && !this.#isEnding)
        this.#warn(`Lines cannot be sent: ${why}; they are kept in ${this.#root}`);
      this.#hasWarned = true;
      const { signal } = this.#closing;
      await delay(Math.max(pause * (0.5 + Math.random() / 2), wait), undefined, { signal }).catch(() => {});
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    }
  }

  async #send({ path, key }) {
    try {
      const body = await readFile(path);
      const response = await fetch(this.#address(), {
        method: "POST",
        body,
        headers: {
          Authorization: `Bearer ${this.#options.key}`,
          "Content-Type": "application/x-ndjson",
          "Idempotency-Key": key,
          // The logger's name, if set, identifies the source better than the host.
          "X-Loggia-Source-Field": "service.name,name",
          ...(this.#options.tags && { "X-Loggia-Tags": this.#options.tags.trim().replaceAll(/\s+/g, ",") }),
        },
        // A redirected POST would become a GET.
        redirect: "manual",
        signal: AbortSignal.any([AbortSignal.timeout(REPLY_MS), this.#closing.signal]),
      });
      const { status, headers } = response;
      const verdict = judgeAnswer(status, await readAnswer(response), headers.get("location"));
      if (verdict.kind === "stored") return { isSettled: true };
      if (verdict.kind === "refused" && !CURABLE.has(status))
        return { isSettled: true, isTooLarge: status === 413, why: verdict.why };
      // A proxy's wait says nothing about the service, and may be an hour.
      const wait = verdict.isOwn ? Number(headers.get("retry-after")) * 1000 || 0 : 0;
      return { isSettled: false, why: verdict.why, wait };
    } catch (error) {
      if (error.code === "ENOENT") return { isSettled: true };
      return { isSettled: false, why: error.cause?.message ?? error.message };
    }
  }

  /**
   * Writes the halves of a batch, which are sent in its place. Their keys follow from its key, so
   * that a process that finds the batch again after a crash sends the same halves.
   */
  async #halve(batch) {
    const lines = (await readFile(batch.path, "utf8")).split("\n").slice(0, -1);
    const middle = Math.ceil(lines.length / 2);
    const halves = [lines.slice(0, middle), lines.slice(middle)].map((half, n) => {
      const key = derivedKey(batch.key, n);
      const path = this.#pathOf(key);
      const text = Buffer.from(`${half.join("\n")}\n`);
      writeFileSync(path, text, { mode: 0o600 });
      this.#stored += text.length;
      return { path, key, size: text.length, lines: half.length, isSent: true };
    });
    this.#batches.splice(this.#batches.indexOf(batch) + 1, 0, ...halves);
  }

  /** Returns the path of the next file. Names sort in the order of creation. */
  #pathOf(key) {
    this.#count += 1;
    return join(this.#folder, `${String(this.#count).padStart(12, "0")}-${key}.ndjson`);
  }

  #address() {
    const { url, log } = this.#options;
    return `${url.replace(/(?<!\/)\/+$/, "")}/1/logs/${encodeURIComponent(log)}/lines`;
  }

  /** Reports dropped lines in the log itself. */
  #reportDropped() {
    if (this.#dropped === 0) return;
    const msg = `${this.#dropped} lines were dropped: the queue exceeded ${this.#maxBytes()} bytes`;
    this.#dropped = 0;
    this.#warn(msg);
    this.add(JSON.stringify({ level: 40, time: Date.now(), name: "loggia/pino", msg }));
  }

  /** Shows a warning. While closing, the thread that prints warnings is blocked; stderr is not. */
  #warn(message) {
    if (!this.#isEnding) return process.emitWarning(message, "LoggiaPino");
    try {
      writeSync(2, `(node:${process.pid}) LoggiaPino: ${message}\n`);
    } catch {
      // stderr cannot be written.
    }
  }

  /** Takes over the files of processes that have ended. */
  async #adopt() {
    const names = await readdir(this.#root).catch(() => []);
    for (const name of names) {
      if (isAlive(name)) continue;
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      for (const file of (await readdir(join(this.#root, name)).catch(() => [])).toSorted(byName)) {
        const key = /^\d+-([0-9a-f-]{36})\.ndjson$/.exec(file)?.[1];
        if (key === undefined) continue;
        const path = this.#pathOf(key);
        try {
          await rename(join(this.#root, name, file), path);
        } catch {
          // Another process took it first.
          continue;
        }
        const { size } = await stat(path);
        const lines = (await readFile(path, "latin1")).split("\n").length - 1;
        // It may have been sent already, so no lines may be added.
        this.#batches.push({ path, key, size, lines, isSent: true });
        this.#stored += size;
      }
      await rmdir(join(this.#root, name)).catch(() => {});
    }
    if (this.#batches.length > 0) this.#start();
  }
}

/**
 * Returns the start time of this process, in milliseconds since the Unix epoch. Threads of the
 * process differ by a few milliseconds.
 */
function startedAt() {
  return Math.round(Date.now() - process.uptime() * 1000);
}

/** Returns the key of a part of a batch, in the form of a UUID. */
function derivedKey(key, n) {
  const hex = createHash("sha256").update(`${key} ${n}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

/** Returns whether a folder's process is running. In containers only its start time is unique. */
function isAlive(name) {
  const [, pid, started] = /^(\d+)-(\d+)-/.exec(name) ?? [];
  if (pid === undefined) return true;
  if (Number(pid) === process.pid) return Math.abs(Number(started) - startedAt()) < START_JITTER_MS;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function byName(a, b) {
  return a < b ? -1 : 1;
}
