import type { Endpoint } from "../kit/endpoint.ts";

/**
 * A protocol of other producers: which requests belong to it, how they are decoded and answered.
 */
export type Protocol = {
  readonly name: string;
  /**
   * Returns the endpoint of a request; null if the protocol has none at this path.
   * @param path without the prefix `/1/logs/{k}` or `/keys/{apikey}`
   */
  match(method: string, path: string): Endpoint | null;
};
