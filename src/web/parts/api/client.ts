/** An error response of the API; `status` is 0 if the service could not be reached. */
export class ApiFault extends Error {
  readonly status: number;
  readonly code: string;
  /** From `Retry-After`, in seconds. */
  readonly retryAfter_s: number | null;

  constructor(fault: { status: number; code: string; message: string; retryAfter_s: number | null }) {
    super(fault.message);
    this.name = "ApiFault";
    this.status = fault.status;
    this.code = fault.code;
    this.retryAfter_s = fault.retryAfter_s;
  }
}

/** Returns the error message to show, in the service's own words where it has some. */
export function faultMessage(error: unknown): string {
  // Each browser words this error differently and includes the address of a file.
  if (error instanceof TypeError && /\bmodule\b/.test(error.message))
    return "reload the page, its code could not be loaded";
  return error instanceof Error ? error.message : "Something went wrong; reload the page";
}

export type ApiAnswer<Body> = {
  readonly body: Body;
  readonly headers: Headers;
  /** From sending the request to the end of the response, in milliseconds. */
  readonly took_ms: number;
};

export type RequestOptions = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Query string; undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Client = {
  /**
   * Sends a request and reads the JSON response (null for 204).
   * @throws ApiFault; the reason of `signal`
   */
  readonly request: <Body>(path: string, options?: RequestOptions) => Promise<ApiAnswer<Body>>;
  /**
   * Returns the response itself, for bodies that are read as they arrive. It counts as a concurrent
   * request only until its headers arrive.
   */
  readonly open: (path: string, options?: RequestOptions) => Promise<Response>;
};

export type ClientOptions = {
  readonly fetch?: typeof globalThis.fetch;
  /** Called for each 401 except on `/1/session`, with the time at which the request was sent. */
  readonly onSignedOut: (sent_ms: number) => void;
};

/** Most concurrent requests of this page. The account's limit of 8 leaves some for other tabs. */
const REQUESTS_AT_ONCE = 4;

/** Creates the page's JSON client. It sends the session cookie and the `X-Loggia` header. */
export function createClient({ fetch = globalThis.fetch.bind(globalThis), onSignedOut }: ClientOptions): Client {
  const turns = createTurns(REQUESTS_AT_ONCE);
  const send = async (path: string, options: RequestOptions): Promise<Response> => {
    const { method = "GET", json, form, signal, headers } = options;
    const sent_ms = performance.now();
    let response: Response;
    try {
      response = await fetch(apiAddress(path, options.query), {
        method,
        credentials: "same-origin",
        headers: {
          Accept: "application/json",
          "X-Loggia": "1",
          ...(json !== undefined && { "Content-Type": "application/json" }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        ...(form && { body: new URLSearchParams(form) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(error);
    }
    if (response.ok) return response;
    if (response.status === 401 && path !== "/1/session") onSignedOut(sent_ms);
    throw await readFault(response);
  };
  return {
    request: <Body>(path: string, options: RequestOptions = {}): Promise<ApiAnswer<Body>> =>
      turns.take(options.signal, async () => {
        const started = performance.now();
        const response = await send(path, options);
        const body = (response.status === 204 ? null : await readJson(response, options.signal)) as Body;
        return { body, headers: response.headers, took_ms: performance.now() - started };
      }),
    open: (path, options = {}) => turns.take(options.signal, () => send(path, options)),
  };
}

export function apiAddress(path: string, query: RequestOptions["query"] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** Reads a response that may be truncated, or may not come from the service. */
async function readJson(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    signal?.throwIfAborted();
    throw unreachable(error);
  }
}

function unreachable(cause: unknown): ApiFault {
  const fault = { status: 0, code: "unreachable", message: "The service did not answer", retryAfter_s: null };
  return Object.assign(new ApiFault(fault), { cause });
}

async function readFault(response: Response): Promise<ApiFault> {
  const after = response.headers.get("Retry-After");
  const retryAfter_s = after === null || !/^\d+$/.test(after) ? null : Number(after);
  const text = await response.text();
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return new ApiFault({ status: response.status, code, message, retryAfter_s });
  } catch {
    // The response came from a proxy in front of the service.
    const message = `The answer was ${response.status} ${response.statusText}`.trim();
    return new ApiFault({ status: response.status, code: "unknown", message, retryAfter_s });
  }
}

/** Runs at most `most` tasks at a time; of those waiting, the newest runs next. */
function createTurns(most: number): { take<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> } {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async take(signal, work) {
      signal?.throwIfAborted();
      if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        signal?.throwIfAborted();
        return await work();
      } finally {
        const next = waiting.pop();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
