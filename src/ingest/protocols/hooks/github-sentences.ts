import type { Severity } from "../../kit/severity.ts";
import { parseSeverity } from "../../kit/severity.ts";
import { at, textAt } from "./payload.ts";
import type { PayloadFields } from "./payload.ts";

/** One-line summary of a delivery. */
export type Sentence = { readonly text: string; readonly link: string; readonly severity: Severity | null };

/** Parts of a summary that depend on the event. */
type Said = { readonly text: string; readonly link?: string; readonly severity?: Severity | null };

/** Names used in summaries. */
type Names = {
  /** Actor. */
  readonly who: string;
  /** ` of octo/repo`, or empty. */
  readonly of: string;
  /** Action as a verb, such as `opened`. */
  readonly did: string;
  readonly action: string;
  readonly commits: number;
};

const LONGEST_QUOTE = 120;
const SHA_DIGITS = 7;

/** Wording of actions that do not read well as they are. */
const VERBS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    synchronize: "pushed to",
    review_requested: "requested a review of",
    review_request_removed: "withdrew a review request for",
    ready_for_review: "marked as ready",
    converted_to_draft: "marked as draft",
    auto_merge_enabled: "enabled auto-merge of",
    auto_merge_disabled: "disabled auto-merge of",
    demilestoned: "removed the milestone of",
    milestoned: "set the milestone of",
  }),
);

/** Severities of the results of runs, checks and deployments. */
const SEVERITIES: ReadonlyMap<string, Severity> = new Map(
  Object.entries({
    failure: "error",
    error: "error",
    timed_out: "error",
    startup_failure: "error",
    cancelled: "warn",
    action_required: "warn",
    stale: "warn",
    success: "info",
    neutral: "info",
    skipped: "info",
  }),
);

/**
 * Summarizes a delivery by the name of its event.
 * @param commits number of commits; a payload may hold only some of them
 */
export function githubSentence(event: string, payload: PayloadFields, commits: number): Sentence {
  const repository = textAt(payload, "repository.full_name", "organization.login", "enterprise.slug");
  const action = textAt(payload, "action");
  const names = {
    who: textAt(payload, "sender.login", "pusher.name") || "somebody",
    of: repository === "" ? "" : ` of ${repository}`,
    did: VERBS.get(action) ?? action.replaceAll("_", " "),
    action,
    commits,
  };
  const say = SENTENCES.get(event);
  const { text, link = "", severity = null } = say?.(payload, names) ?? sayOther(event, payload, names);
  return {
    text,
    link: link || linkOf(event, payload) || textAt(payload, "repository.html_url", "sender.html_url"),
    severity,
  };
}

const SENTENCES: ReadonlyMap<string, (payload: PayloadFields, names: Names) => Said> = new Map(
  Object.entries({
    ping: (payload, { of }) => ({ text: `GitHub's webhook${of} is set up: ${textAt(payload, "zen")}` }),
    push: sayPush,
    create: (payload, { who, of }) => ({ text: `${who} created ${refOf(payload)}${of}` }),
    delete: (payload, { who, of }) => ({ text: `${who} deleted ${refOf(payload)}${of}` }),
    pull_request: (payload, names) => {
      const isMerged = names.action === "closed" && at(payload, "pull_request.merged") === true;
      return sayNumbered(payload, isMerged ? { ...names, did: "merged" } : names, "pull_request");
    },
    pull_request_review: sayReview,
    pull_request_review_comment: (payload, names) => sayComment(payload, names, "pull_request"),
    pull_request_review_thread: (payload, names) => {
      const said = sayNumbered(payload, { ...names, did: `${names.did} a thread of` }, "pull_request");
      return { ...said, link: textAt(payload, "thread.comments.0.html_url") };
    },
    issues: (payload, names) => sayNumbered(payload, names, "issue"),
    issue_comment: (payload, names) => sayComment(payload, names, "issue"),
    discussion: (payload, names) => sayNumbered(payload, names, "discussion"),
    discussion_comment: (payload, names) => sayComment(payload, names, "discussion"),
    commit_comment: (payload, { who, of }) => ({
      text:
        `${who} commented on commit ${shaOf(payload, "comment.commit_id")}${of}: ` + quoteAt(payload, "comment.body"),
      link: textAt(payload, "comment.html_url"),
    }),
    release: (payload, { who, did, of }) => ({
      text: `${who} ${did} release ${textAt(payload, "release.name", "release.tag_name")}${of}`,
    }),
    workflow_run: (payload, names) => {
      const run = textAt(payload, "workflow_run.run_number");
      const branch = textAt(payload, "workflow_run.head_branch");
      const what = `Workflow ${textAt(payload, "workflow_run.name", "workflow.name")} ${run === "" ? "" : `#${run}`}`;
      return sayState(
        payload,
        "workflow_run",
        `${what.trim()}${branch === "" ? "" : ` on ${branch}`}${names.of}`,
        names,
      );
    },
    workflow_job: (payload, names) => {
      const what = `Job ${textAt(payload, "workflow_job.workflow_name")} / ${textAt(payload, "workflow_job.name")}`;
      return sayState(payload, "workflow_job", `${what.replace("Job  / ", "Job ")}${names.of}`, names);
    },
    check_run: (payload, names) =>
      sayState(payload, "check_run", `Check ${textAt(payload, "check_run.name")}${names.of}`, names),
    check_suite: (payload, names) => {
      const on = textAt(payload, "check_suite.head_branch") || shaOf(payload, "check_suite.head_sha");
      return sayState(
        payload,
        "check_suite",
        `Checks of ${textAt(payload, "check_suite.app.name")} on ${on}${names.of}`,
        names,
      );
    },
    status: (payload, { of }) => {
      const state = textAt(payload, "state");
      const described = textAt(payload, "description");
      return {
        text:
          `Status ${textAt(payload, "context")} of commit ${shaOf(payload, "sha")}${of}: ${state}` +
          (described === "" ? "" : `, ${described}`),
        link: textAt(payload, "target_url", "commit.html_url"),
        severity: SEVERITIES.get(state) ?? null,
      };
    },
    deployment: (payload, { who, of }) => ({
      text: `${who} deploys ${textAt(payload, "deployment.ref")}${of} to ${textAt(payload, "deployment.environment")}`,
    }),
    deployment_status: (payload, { of }) => {
      const state = textAt(payload, "deployment_status.state");
      const environment = textAt(payload, "deployment_status.environment", "deployment.environment");
      return {
        text:
          `Deployment of ${textAt(payload, "deployment.ref")}${of} to ${environment}: ` + state.replaceAll("_", " "),
        link: textAt(payload, "deployment_status.target_url", "deployment_status.log_url"),
        severity: SEVERITIES.get(state) ?? null,
      };
    },
    star: (_, { who, action, of }) => ({
      text: `${who} ${action === "deleted" ? "unstarred" : "starred"}${of.slice(3)}`,
    }),
    watch: (_, { who, of }) => ({ text: `${who} starred${of.slice(3)}` }),
    fork: (payload, { who, of }) => ({
      text: `${who} forked${of.slice(3)} to ${textAt(payload, "forkee.full_name")}`,
      link: textAt(payload, "forkee.html_url"),
    }),
    public: (_, { who, of }) => ({ text: `${who} made${of.slice(3)} public` }),
    repository: (_, { who, did, of }) => ({ text: `${who} ${did} repository${of.slice(3)}` }),
    member: (payload, { who, did, of }) => ({
      text: `${who} ${did} collaborator ${textAt(payload, "member.login")}${of}`,
    }),
    gollum: (payload, { who, of }) => ({
      text:
        `${who} ${textAt(payload, "pages.0.action") || "changed"} wiki page ` +
        `${textAt(payload, "pages.0.title")}${of}`,
      link: textAt(payload, "pages.0.html_url"),
    }),
    dependabot_alert: (payload, names) =>
      sayAlert(payload, names, "Dependabot alert", "security_advisory.summary", "security_advisory.severity"),
    code_scanning_alert: (payload, names) =>
      sayAlert(payload, names, "Code scanning alert", "rule.description", "rule.severity"),
    secret_scanning_alert: (payload, names) =>
      sayAlert(payload, names, "Secret scanning alert", "secret_type_display_name", "severity"),
  }),
);

function sayPush(payload: PayloadFields, { who, of, commits }: Names): Said {
  const ref = textAt(payload, "ref")
    .replace(/^refs\/(?:heads\/)?/, "")
    .replace(/^tags\//, "tag ");
  const link = textAt(payload, "compare");
  if (at(payload, "deleted") === true) return { text: `${who} deleted ${ref}${of}`, link };
  const verb = at(payload, "forced") === true ? "force-pushed" : "pushed";
  const what = commits === 0 ? ref : `${commits} ${commits === 1 ? "commit" : "commits"} to ${ref}`;
  const message = quoteAt(payload, "head_commit.message");
  return { text: `${who} ${verb} ${what}${of}${message === "" ? "" : `: ${message}`}`, link };
}

/** Summarizes events of things with number and title: pull requests, issues and discussions. */
function sayNumbered(payload: PayloadFields, { who, did, of }: Names, thing: string): Said {
  const by = textAt(payload, "label.name", "assignee.login", "requested_reviewer.login", "requested_team.name");
  const title = textAt(payload, `${thing}.title`);
  const number = textAt(payload, `${thing}.number`);
  const subject = `${thing.replaceAll("_", " ")} #${number}${of}`;
  return {
    text: `${who} ${did} ${subject}${by === "" ? "" : ` (${by})`}: ${title}`,
    link: textAt(payload, `${thing}.html_url`),
  };
}

function sayComment(payload: PayloadFields, names: Names, thing: string): Said {
  const did = names.action === "created" ? "commented on" : `${names.did} a comment on`;
  const { text } = sayNumbered(payload, { ...names, did }, thing);
  const body = quoteAt(payload, "comment.body");
  return { text: body === "" ? text : `${text}: ${body}`, link: textAt(payload, "comment.html_url") };
}

const REVIEWS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    approved: "approved",
    changes_requested: "requested changes to",
    commented: "reviewed",
  }),
);

function sayReview(payload: PayloadFields, names: Names): Said {
  const state = textAt(payload, "review.state").toLowerCase();
  const verb = REVIEWS.get(state);
  const did = names.action === "submitted" && verb !== undefined ? verb : `${names.did} a review of`;
  return { ...sayNumbered(payload, { ...names, did }, "pull_request"), link: textAt(payload, "review.html_url") };
}

/** Summarizes a run by its result or current state. */
function sayState(payload: PayloadFields, thing: string, what: string, { action }: Names): Said {
  const state = textAt(payload, `${thing}.conclusion`) || textAt(payload, `${thing}.status`) || action;
  return { text: `${what}: ${state.replaceAll("_", " ")}`, severity: SEVERITIES.get(state) ?? null };
}

function sayAlert(payload: PayloadFields, { did, of }: Names, what: string, summary: string, severity: string): Said {
  const number = textAt(payload, "alert.number");
  const word = textAt(payload, `alert.${severity}`);
  return {
    text: `${what} #${number}${of} ${did}: ${textAt(payload, `alert.${summary}`)}`,
    link: textAt(payload, "alert.html_url"),
    severity: ALERT_SEVERITIES.get(word) ?? parseSeverity(word),
  };
}

/** Severities of the words that advisories use. */
const ALERT_SEVERITIES: ReadonlyMap<string, Severity> = new Map(
  Object.entries({
    critical: "fatal",
    high: "error",
    medium: "warn",
    moderate: "warn",
    low: "info",
  }),
);

/** Summarizes any other event: actor, action and object. */
function sayOther(event: string, payload: PayloadFields, { who, did, of }: Names): Said {
  const thing = event === "" ? "something" : event.replaceAll("_", " ");
  const name = textAt(
    payload,
    ...["name", "title", "slug", "login", "full_name", "number", "key", "tag_name"].map((field) => `${event}.${field}`),
  );
  const what = `${thing}${name === "" ? "" : ` ${name}`}${of}`;
  return { text: did === "" ? `${who}: ${what}` : `${who} ${did} ${what}` };
}

function linkOf(event: string, payload: PayloadFields): string {
  return textAt(payload, `${event}.html_url`, "issue.html_url", "pull_request.html_url", "organization.html_url");
}

function refOf(payload: PayloadFields): string {
  return `${textAt(payload, "ref_type") || "ref"} ${textAt(payload, "ref")}`;
}

function shaOf(payload: PayloadFields, path: string): string {
  return textAt(payload, path).slice(0, SHA_DIGITS);
}

/** Returns the first line of a text, shortened. */
function quoteAt(payload: PayloadFields, path: string): string {
  const [line = ""] = textAt(payload, path).trimStart().split(/\r?\n/, 1);
  return line.length <= LONGEST_QUOTE ? line : `${line.slice(0, LONGEST_QUOTE)}…`;
}
