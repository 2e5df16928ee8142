import { IncomingMessage, ServerResponse } from "node:http";

const PATCHED = [ServerResponse.prototype, IncomingMessage.prototype];

const before = PATCHED.map((prototype) => Object.getOwnPropertyDescriptors(prototype));
const { default: restify } = await import("restify");

// Restify changes Node's own classes for the whole process as it is loaded: `writeHead` returns
// nothing then, for the posting listener and everybody else who never asked for Restify. What it
// adds may stay, as it works with that itself; what it replaced is put back.
PATCHED.forEach((prototype, i) => Object.defineProperties(prototype, before[i] ?? {}));

/** Restify, without what loading it does to others. It has to be imported from here. */
export { restify };
