import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";

/** A parameter that is neither absent nor what it may be. */
export function badParameter(name: string, value: string, allowed: string): LoggiaError {
  return new LoggiaError("bad_parameter", `The parameter ${name} is ${quote(value)}; it must be ${allowed}`);
}

/** A parameter that is on or off; off where it is absent or empty. @throws LoggiaError `bad_parameter` */
export function readFlag(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name) ?? "";
  if (value === "" || value === "false") return false;
  if (value === "true") return true;
  throw badParameter(name, value, "true or false");
}
