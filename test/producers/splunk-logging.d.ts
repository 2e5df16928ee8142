declare module "splunk-logging" {
  type Context = { message: unknown; severity?: string; metadata?: Record<string, unknown> };
  class Logger {
    constructor(config: { token: string; url: string; maxBatchCount?: number });
    send(context: Context): void;
    flush(callback: (error: Error | null | undefined, response: unknown, body: object) => void): void;
  }
  const splunk: { Logger: typeof Logger };
  export = splunk;
}
