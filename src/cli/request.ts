import { Agent as HttpAgent, type ClientRequest, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

export type ReceivedReply = {
  readonly status: number;
  readonly body: string;
  readonly retryAfter_ms: number | null;
  /** The service's suggestion for what the client meant. */
  readonly hint: string | null;
  /** Target of a redirection. */
  readonly location: string | null;
};

/**
 * `timeout_ms`: longest time without traffic on the connection. `reply_ms`: longest time from the end
 * of the request to the end of the response, which another server may send for ever.
 */
export type OutgoingRequest = {
  readonly method: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly timeout_ms?: number;
  readonly reply_ms?: number;
};

export type RequestSender = {
  /** Sends a request over a kept-alive connection. Rejects without a complete response. */
  send(url: URL, message: OutgoingRequest): Promise<ReceivedReply>;
  close(): void;
};

export const REPLY_TIMEOUT_MS = 30_000;
/** Longest response that is read, in characters. */
const REPLY_MAX_LENGTH = 64 * 1024 * 1024;

/** @param connections most concurrent requests */
export function createSender(connections: number): RequestSender {
  const http = new HttpAgent({ keepAlive: true, maxSockets: connections });
  const https = new HttpsAgent({ keepAlive: true, maxSockets: connections });
  return {
    send(url, { method, headers = {}, body = "", timeout_ms = REPLY_TIMEOUT_MS, reply_ms }) {
      const { promise, resolve, reject } = Promise.withResolvers<ReceivedReply>();
      const secure = url.protocol === "https:";
      const options = {
        method,
        headers: { ...headers, "Content-Length": Buffer.byteLength(body) },
        timeout: timeout_ms,
      };
      const request = secure
        ? httpsRequest(url, { ...options, agent: https })
        : httpRequest(url, { ...options, agent: http });
      request
        .on("error", reject)
        .on("timeout", () => request.destroy(new Error(`no answer within ${Math.round(timeout_ms)} ms`)));
      if (reply_ms !== undefined) limitReply(request, reply_ms);
      request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.length > REPLY_MAX_LENGTH)
            request.destroy(
              new Error(`an answer of more than ${REPLY_MAX_LENGTH / 2 ** 20} MB, which no service sends`),
            );
        });
        response.on("error", reject).on("end", () => {
          const retryAfter_s = Number(response.headers["retry-after"] ?? Number.NaN);
          const retryAfter_ms = Number.isFinite(retryAfter_s) ? retryAfter_s * 1000 : null;
          const hint = response.headers["x-loggia-hint"];
          resolve({
            status: response.statusCode ?? 0,
            body: text,
            retryAfter_ms,
            hint: typeof hint === "string" ? hint : null,
            location: response.headers.location ?? null,
          });
        });
      });
      request.end(body);
      return promise;
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** Ends a request whose response is not complete in time. */
function limitReply(request: ClientRequest, reply_ms: number): void {
  let timer: NodeJS.Timeout | undefined;
  const fail = (): void => void request.destroy(new Error(`no complete answer within ${Math.round(reply_ms)} ms`));
  request.on("finish", () => (timer = setTimeout(fail, reply_ms))).on("close", () => clearTimeout(timer));
}

/** An error that is reported to the user by its message, with exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandError";
  }
}

/** Returns the message of an error response, or the start of its body. */
export function answerMessage(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: string } };
    return error?.message ?? body.slice(0, 200);
  } catch {
    return body.slice(0, 200);
  }
}
