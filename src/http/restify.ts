import { IncomingMessage, ServerResponse } from "node:http";

const PATCHED = [ServerResponse.prototype, IncomingMessage.prototype];

const before = PATCHED.map((prototype) => Object.getOwnPropertyDescriptors(prototype));
const { default: restify } = await import("restify");

// Loading Restify patches Node's own classes for the whole process: `writeHead`, for example, then
// returns nothing, for other servers too. Methods that Restify adds may stay; those that it
// replaced are restored, and Restify works with them.
PATCHED.forEach((prototype, i) => Object.defineProperties(prototype, before[i] ?? {}));

/** Restify without its global side effects. Import it only from here. */
export { restify };
