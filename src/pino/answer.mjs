/**
 * Statuses with which Loggia refuses a post for good. Every other answer, and every answer that
 * something else gave, is temporary: a proxy answers 404 or a page of HTML while it restarts.
 */
const FINAL = new Set([400, 401, 403, 404, 409, 413, 415]);
/** Longest part of a foreign answer that is shown, in characters. */
const SHOWN = 100;
/** Longest answer that is read, in characters: those of other servers may never end. */
const MAX_LENGTH = 64 * 1024 * 1024;

/**
 * Judges the answer to a post: whether Loggia stored or refused it, or the post must be retried.
 * It runs under the application's Node, so it is plain JavaScript.
 *
 * @param {number} status
 * @param {string} body
 * @param {string | null} [location] the header Location
 * @returns {import("./answer.d.mts").Verdict}
 */
export function judgeAnswer(status, body, location = null) {
  const answer = objectIn(body);
  if (status === 201 && typeof answer?.accepted === "number") return { kind: "stored", answer };
  const { code, message } = isOwnError(answer?.error, status) ? answer.error : {};
  if (code === undefined) return { kind: "retry", isOwn: false, why: foreignAnswer(status, body, location) };
  const why = `${status} ${message}`;
  return FINAL.has(status) ? { kind: "refused", status, why } : { kind: "retry", isOwn: true, why };
}

/**
 * Reads the body of an answer.
 *
 * @param {Response} response
 * @throws Error if it is too long to be one of Loggia
 */
export async function readAnswer({ body }) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_LENGTH) throw new Error(`an answer of more than ${MAX_LENGTH / 2 ** 20} MB`);
  }
  return text + decoder.decode();
}

function isOwnError(error, status) {
  return error?.status === status && typeof error.code === "string" && typeof error.message === "string";
}

function objectIn(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Describes an answer of a proxy or another server, by its text without tags. */
function foreignAnswer(status, body, location) {
  const text = body
    .slice(0, 20 * SHOWN)
    .replaceAll(/<(style|script)\b.*?<\/\1>|<[^>]*>/gis, " ")
    // Characters that would act on a terminal are dropped too.
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .replace(new RegExp(`^${status}\\b ?`), "")
    .slice(0, SHOWN);
  const target = location === null ? "" : `, redirecting to ${location.slice(0, SHOWN).replaceAll(/\p{C}+/gu, " ")}`;
  return `${status}${text === "" ? "" : ` ${text}`} (not an answer of Loggia, but of a proxy or another server${target})`;
}
