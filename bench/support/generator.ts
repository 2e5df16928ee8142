/**
 * The load generator: a separate process that sends prepared requests over kept-alive connections
 * and reads only status and length of the responses. `load.ts` controls it, one job at a time.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";

import type { Job, Outcome } from "./load.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const LENGTH = Buffer.from("ontent-Length: ");
const CHUNKED = Buffer.from("ransfer-Encoding: chunked");
const LAST_CHUNK = Buffer.from("\r\n0\r\n\r\n");
/** Shared read buffer of all connections; its content is not kept. */
const READ = Buffer.allocUnsafeSlow(64 * 1024);
/** Interval at which the pacer checks the clock. */
const TICK_MS = 1;

const NOTHING = Buffer.alloc(0);

type Answered = (connection: Connection, status: number) => void;

class Connection {
  readonly #socket: Socket;
  readonly #answered: Answered;
  /** Received part of an incomplete response head. */
  #head: Buffer | null = null;
  #status = 0;
  /** Remaining bytes of the body; -1 between two responses, Infinity for a chunked body. */
  #left = -1;
  /** Last bytes of a chunked body. */
  #tail: Buffer = NOTHING;
  started_ms = 0;

  private constructor(socket: Socket, answered: Answered) {
    this.#socket = socket;
    this.#answered = answered;
    socket.setNoDelay(true);
  }

  static open(job: Job, answered: Answered): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const callback = (size: number): true => {
      connection.#read(READ.subarray(0, size));
      return true;
    };
    const onread = { buffer: READ, callback };
    const socket = connect({ port: job.port, host: job.host, onread }, () => resolve(connection));
    const connection = new Connection(socket, answered);
    socket.on("error", reject);
    socket.on("error", fail);
    socket.on("end", () => fail(new Error("the server closed a connection")));
    return promise;
  }

  send(request: Buffer, started_ms: number): void {
    this.started_ms = started_ms;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners("end");
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    if (this.#left < 0) {
      if (this.#head !== null) rest = Buffer.concat([this.#head, chunk]);
      const end = rest.indexOf(HEAD_END);
      if (end < 0) {
        // A copy, as the read buffer is reused.
        this.#head = Buffer.from(rest);
        return;
      }
      this.#head = null;
      this.#status = (rest[9]! - 48) * 100 + (rest[10]! - 48) * 10 + (rest[11]! - 48);
      this.#left = this.#status === 204 ? 0 : lengthOf(rest, end);
      // The line break before the last chunk may be that of the head.
      rest = rest.subarray(end + (this.#left === Infinity ? 2 : HEAD_END.length));
    }
    if (this.#left === Infinity) {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-LAST_CHUNK.length));
      if (!this.#tail.equals(LAST_CHUNK)) return;
      this.#tail = NOTHING;
      this.#left = rest.length;
    }
    this.#left -= rest.length;
    if (this.#left > 0) return;
    if (this.#left < 0) throw new Error("a response is longer than its Content-Length");
    this.#left = -1;
    this.#answered(this, this.#status);
  }
}

function lengthOf(head: Buffer, end: number): number {
  const at = head.indexOf(LENGTH);
  const chunked = head.indexOf(CHUNKED);
  if (chunked >= 0 && chunked < end) return Infinity;
  if (at < 0 || at > end) throw new Error(`a response has no Content-Length: ${head.toString("latin1", 0, end)}`);
  let length = 0;
  for (let i = at + LENGTH.length; head[i]! >= 48 && head[i]! <= 57; i++) length = length * 10 + head[i]! - 48;
  return length;
}

function fail(error: unknown): void {
  console.error("the load generator failed:", error);
  process.exit(1);
}

/** Returns prepared requests in turn, with the time of sending if the job has a stamp. */
function requestsOf({ requests, stamp }: Job): () => Buffer {
  const ready = requests.map((request) => Buffer.from(request));
  const places = ready.map((request) => (stamp === undefined ? -1 : request.indexOf(stamp)));
  let next = 0;
  return () => {
    const i = next++ % ready.length;
    const request = ready[i]!;
    if (places[i]! < 0) return request;
    const stamped = Buffer.from(request);
    stamped.write(String(Date.now()), places[i]!, "latin1");
    return stamped;
  };
}

/**
 * Collects the responses of a job. Latency is measured from the time a request was due, so that a
 * stalled server is charged for all requests it delayed.
 */
function createTally(job: Job, end_ms: number) {
  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const start_ms = performance.now();
  let inTime = 0;
  let last_ms = start_ms;
  return {
    add(connection: Connection, status: number): void {
      const now_ms = performance.now();
      last_ms = now_ms;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== job.expect) return;
      latencies.push(now_ms - connection.started_ms);
      if (now_ms <= end_ms) inTime += 1;
    },
    outcome: (): Outcome => ({
      answered: statuses.get(job.expect) ?? 0,
      perSecond: inTime / (job.duration_ms / 1000),
      took_ms: last_ms - start_ms,
      latencies_ms: Float64Array.from(latencies).sort(),
      others: [...statuses].filter(([status]) => status !== job.expect),
    }),
  };
}

async function run(job: Job): Promise<Outcome> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const next = requestsOf(job);
  const free: Connection[] = [];
  const due: number[] = [];
  let tally: ReturnType<typeof createTally> | null = null;
  let end_ms = Infinity;
  let inFlight = 0;
  let sent = 0;
  const most = job.once === true ? job.requests.length : Infinity;
  /** Whether requests may still become due. */
  let sending = true;

  function send(connection: Connection, started_ms: number): void {
    inFlight += 1;
    sent += 1;
    connection.send(next(), started_ms);
  }

  function answered(connection: Connection, status: number): void {
    inFlight -= 1;
    tally!.add(connection, status);
    const now_ms = performance.now();
    const isOver = now_ms >= end_ms || sent >= most;
    const waiting_ms = job.perSecond === null ? (isOver ? undefined : now_ms) : due.shift();
    if (waiting_ms !== undefined) send(connection, waiting_ms);
    else free.push(connection);
    if (job.perSecond === null && isOver) sending = false;
    if (inFlight === 0 && !sending) end();
  }

  const connections: Connection[] = [];
  for (let i = 0; i < job.connections; i++) connections.push(await Connection.open(job, answered));
  free.push(...connections);
  const start_ms = performance.now();
  end_ms = start_ms + job.duration_ms;
  tally = createTally(job, end_ms);
  if (job.perSecond === null) {
    for (const connection of free.splice(0, most)) send(connection, performance.now());
  } else {
    await sendAtRate(job.perSecond, start_ms, end_ms, (due_ms) => {
      const connection = free.pop();
      if (connection === undefined) due.push(due_ms);
      else send(connection, due_ms);
    });
    sending = false;
    if (inFlight === 0) end();
  }
  await over;
  for (const connection of connections) connection.close();
  return tally.outcome();
}

/** Calls `send` at a fixed rate with the time a request is due, regardless of earlier requests. */
async function sendAtRate(
  perSecond: number,
  start_ms: number,
  end_ms: number,
  send: (due_ms: number) => void,
): Promise<void> {
  for (let sent = 0; ;) {
    const now_ms = performance.now();
    const until_ms = Math.min(now_ms, end_ms);
    for (; start_ms + (sent / perSecond) * 1000 <= until_ms; sent++) send(start_ms + (sent / perSecond) * 1000);
    if (now_ms >= end_ms) return;
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
}

process.on("message", (job: Job) => {
  run(job).then((outcome) => process.send!(outcome), fail);
});
process.on("disconnect", () => process.exit(0));
