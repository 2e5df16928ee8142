/** What the answer to a post means for its lines. */
export type Verdict =
  /** `answer` is Loggia's response. */
  | { readonly kind: "stored"; readonly answer: { readonly accepted: number } }
  /** Loggia refuses the post, and would refuse it again. */
  | { readonly kind: "refused"; readonly status: number; readonly why: string }
  /** `isOwn`: whether Loggia answered. */
  | { readonly kind: "retry"; readonly isOwn: boolean; readonly why: string };

export function judgeAnswer(status: number, body: string, location?: string | null): Verdict;

/** Reads the body of an answer. @throws Error if it is too long to be one of Loggia */
export function readAnswer(response: Pick<Response, "body">): Promise<string>;
