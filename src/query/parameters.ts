import { LoggiaError } from "../errors.ts";
import { quote } from "../events/quote.ts";

/** Returns the error of a parameter with an invalid value. */
export function badParameter(name: string, value: string, allowed: string): LoggiaError {
  return new LoggiaError("bad_parameter", `The parameter ${name} is ${quote(value)}; it must be ${allowed}`);
}

/** Reads a flag; absent or empty is false. @throws LoggiaError `bad_parameter` */
export function readFlag(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name) ?? "";
  if (value === "" || value === "false") return false;
  if (value === "true") return true;
  throw badParameter(name, value, "true or false");
}
