/** How a container's lines are written: by Docker's json-file driver, or by runtimes of Kubernetes. */
export type ContainerForm = "docker" | "cri";

/** Metadata that the runtime wrote with a line. */
export type ContainerLine = {
  readonly stream: string;
  readonly time: string;
  readonly attrs: Readonly<Record<string, string>>;
};

/** Text of a container, or a part of it. `isWhole`: it ends a line. */
export type ContainerText = {
  readonly text: string;
  readonly container: ContainerLine | null;
  readonly isWhole: boolean;
};

/** Reads a line of a container's file; null if it has another form. */
export function readContainerLine(line: string, form: ContainerForm): ContainerText | null {
  // With Docker as its runtime, Kubernetes has links to Docker's files.
  return form === "docker" || line.startsWith("{") ? readDocker(line) : readCri(line);
}

/** Matches what containerd and CRI-O write: `<time> <stream> <P for a part, or F>[:tags] <text>`. */
const CRI = /^(?<time>\d{4}-\S{1,40}) (?<stream>stdout|stderr) (?<end>[PF])(?::\S{0,100})?(?: (?<text>.*))?$/s;

function readCri(line: string): ContainerText | null {
  const groups = CRI.exec(line)?.groups;
  if (groups === undefined) return null;
  const { time = "", stream = "", end, text = "" } = groups;
  return { text, container: { stream, time, attrs: {} }, isWhole: end === "F" };
}

function readDocker(line: string): ContainerText | null {
  try {
    const { log, stream, time, attrs } = JSON.parse(line) as Record<string, unknown>;
    if (typeof log !== "string") return null;
    const isWhole = log.endsWith("\n");
    const text = isWhole ? log.replace(/\r?\n$/, "") : log;
    const container = { stream: textOf(stream), time: textOf(time), attrs: isTexts(attrs) ? attrs : {} };
    return { text, container, isWhole };
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one === "string");
}
